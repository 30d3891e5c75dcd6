--
-- PostgreSQL database dump
--

\restrict 5O15JHyjUzoD4ZexLwWJM4C0CVBo1INKUiQarRurJWri2avbh40qATVXSPU8Wwd

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: localdata; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA localdata;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: commits; Type: TABLE; Schema: localdata; Owner: -
--

CREATE TABLE localdata.commits (
    key uuid NOT NULL,
    abandoned boolean DEFAULT false NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: databases; Type: TABLE; Schema: localdata; Owner: -
--

CREATE TABLE localdata.databases (
    context bytea NOT NULL,
    version uuid NOT NULL,
    origin bytea NOT NULL,
    sealed boolean NOT NULL,
    database bytea,
    sender bytea,
    index_key bytea,
    tag bytea
);


--
-- Name: deletions; Type: TABLE; Schema: localdata; Owner: -
--

CREATE TABLE localdata.deletions (
    context bytea NOT NULL,
    namespace bytea NOT NULL,
    slot bytea NOT NULL,
    stamp xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: keys; Type: TABLE; Schema: localdata; Owner: -
--

CREATE TABLE localdata.keys (
    context bytea NOT NULL,
    key bytea NOT NULL,
    state smallint NOT NULL
);


--
-- Name: records; Type: TABLE; Schema: localdata; Owner: -
--

CREATE TABLE localdata.records (
    context bytea NOT NULL,
    namespace bytea NOT NULL,
    slot bytea NOT NULL,
    revision uuid NOT NULL,
    key bytea,
    record bytea NOT NULL,
    labels bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    stamp xid8 DEFAULT pg_current_xact_id() NOT NULL,
    expires timestamp with time zone
);


--
-- Name: schema_version; Type: TABLE; Schema: localdata; Owner: -
--

CREATE TABLE localdata.schema_version (
    one boolean DEFAULT true NOT NULL,
    version bigint NOT NULL,
    compatible bigint NOT NULL,
    system bigint DEFAULT (pg_control_system()).system_identifier NOT NULL,
    timeline bigint DEFAULT ((('x'::text || "left"(pg_walfile_name(pg_current_wal_lsn()), 8)))::bit(32))::bigint NOT NULL,
    accepted timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT schema_version_one_check CHECK (one)
);


--
-- Name: wraps; Type: TABLE; Schema: localdata; Owner: -
--

CREATE TABLE localdata.wraps (
    context bytea NOT NULL,
    key bytea NOT NULL,
    recipient bytea NOT NULL,
    source text NOT NULL,
    verifier bytea NOT NULL,
    wrapped bytea NOT NULL
);


--
-- Data for Name: commits; Type: TABLE DATA; Schema: localdata; Owner: -
--

COPY localdata.commits (key, abandoned, at) FROM stdin;
4c8f9e8e-1544-940b-811a-19be55b60286	f	2026-11-29 01:56:06.240789+00
03bd8a22-4fc4-5296-c182-b5a77363adea	f	2026-11-29 01:56:06.35665+00
820c935f-4cd2-fdd9-84fc-3909bef1af6e	f	2026-11-29 01:56:07.624374+00
9829ea6d-8978-a208-98ae-a88fe3a3fbf0	f	2026-11-29 01:56:07.670939+00
\.


--
-- Data for Name: databases; Type: TABLE DATA; Schema: localdata; Owner: -
--

COPY localdata.databases (context, version, origin, sealed, database, sender, index_key, tag) FROM stdin;
\\xa6165a9e418f43ed761075989ecd7aca	2ebe513d-1838-dc65-b37f-ab83207c8ef3	\\x000000194c6f63616c446174612073746f726520636f6e7465787420310000000f636f6d2e6578616d706c652e6170700000000a706f737467726553514c000000046d61696e	t	\\x47c8ae3dc5b67a3938f2c3c8aa0c4f6e	\\x20fcc27a3c7329eb4228323d2dc0495696b9a8982944d6e1ee0408c6126acca2948fdf7972a58592ebebe52a4d01ae18756405d6e4efa742b75713ae57cefb055e8801aed55eade5	\\x03ee09665a61e700e23a46836c1f6962df9293d0db0eb34c3349c7ac3faacba91cc3a16d0486acefb4f4bf5f8f9abd7a2dda3315caf7ac3d43a48b2b1cdfe58c1fe3c1ff1f52d5f1	\\x400a25a65bbe5879e860d7aa6607ba86d6fd14dfdd325c3bc2266ccdb2def08a
\.


--
-- Data for Name: deletions; Type: TABLE DATA; Schema: localdata; Owner: -
--

COPY localdata.deletions (context, namespace, slot, stamp, at) FROM stdin;
\\xa6165a9e418f43ed761075989ecd7aca	\\xb7d8faa56ce95178581bc23c2a178423	\\x5882724c0e17f7ca14fdea630d019ea4	735	2026-11-29 01:56:07.670939+00
\.


--
-- Data for Name: keys; Type: TABLE DATA; Schema: localdata; Owner: -
--

COPY localdata.keys (context, key, state) FROM stdin;
\\xa6165a9e418f43ed761075989ecd7aca	\\x609efb400ecbf939	1
\.


--
-- Data for Name: records; Type: TABLE DATA; Schema: localdata; Owner: -
--

COPY localdata.records (context, namespace, slot, revision, key, record, labels, stamp, expires) FROM stdin;
\\xa6165a9e418f43ed761075989ecd7aca	\\xb7d8faa56ce95178581bc23c2a178423	\\xaaaf9d72dc7f796ebd44b27b8ba8c530	4b0e5351-b0e9-aadc-1b2f-a231ca50edfa	\\x609efb400ecbf939	\\x01609efb400ecbf93943a6ffd0340f0f4530bc80985e6ac7c03bec10452439a6743ff4da431ce2d18c614936b5871125d059ba64a351064bdc5a69d60be3f0150b9b3ab81c2ec9109b092debca8b2a81bb23b934735a7b654e4e36fda1d639de638b7640967e20e1079b1aa8331cbfc27c41addbb2f0c0372b46682e956b75ae8bcb588c2e0b85d848ce1bf1b26031777e279dfe52b804ef2697cddc8120326966182f273139e9db84a1e3496a1b43ea49	{}	726	\N
\\xa6165a9e418f43ed761075989ecd7aca	\\xb7d8faa56ce95178581bc23c2a178423	\\x1806d74d9278c1ad72a9276ca6a22402	c04b2eb5-aee9-ebd9-32c7-ec537375a16c	\\x609efb400ecbf939	\\x01609efb400ecbf93965ac51f254c7463eee22ab80cbf248c137b976153fc3782166650ea851eaf99f5639d2ff21bbf9889061b5eccfc1d9d5725b8023ee5924ba63a3cb47d00cadb6b5b505e205cd07aac16cb4daa8705356e03a97d66696da8eaaf5d7f02dd65eaab7980da72f812b687ebfb8090d4779de88c67c197a865b3290bc59a8a92178f9b9200dc191c3c0713e6dbd84cffef8ab4c6ae0e543d2a7c06496c0c0b07037626ff45934c2ddcbf3	{}	734	\N
\.


--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: localdata; Owner: -
--

COPY localdata.schema_version (one, version, compatible, system, timeline, accepted) FROM stdin;
t	2	1	7713406230944918803	1	2026-11-29 01:56:05.528506+00
\.


--
-- Data for Name: wraps; Type: TABLE DATA; Schema: localdata; Owner: -
--

COPY localdata.wraps (context, key, recipient, source, verifier, wrapped) FROM stdin;
\\xa6165a9e418f43ed761075989ecd7aca	\\x609efb400ecbf939	\\x09a4844ecff565ed	key file version-2.key	\\x24739a3a891a66c602247ce60111fd3d0ef9ade465028f69495fa654628d7ea7	\\x695e21369a881fe2acd45a752921b4ab3f1a9536ccd0bdf380e93dcdd0c94a4dc4302b2ac52154ae3420556d102b67b8e57898c547c93a27b618afb701c5ae08e056d6b0d7574620
\\xa6165a9e418f43ed761075989ecd7aca	\\x609efb400ecbf939	\\x0d08fea5d967db48	recovery key	\\x957eb32363743589db9461fb4bdff5fa9073538020d0f0f5676a8bdd31a68e42	\\x47c8ae3dc5b67a3938f2c3c8aa0c4f6e94c45dc7b2b43e16acc1a48c07be465bb99820ac07b7b01022205c68d56a95740b3838603d38e48f7163defbdcdb1e383a10650a9297a64da7b08bb61030a656ca01e520852c87a9c864a0cf5d1350cdfe1a670617078679f0e8b0d7c23e111567ba818b680fb4ebc486e14ad9d5dbc41c105a7474897eb0453ff38ae1dba0bdcff187d68240267312e580fea54e0d81
\.


--
-- Name: commits commits_pkey; Type: CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.commits
    ADD CONSTRAINT commits_pkey PRIMARY KEY (key);


--
-- Name: databases databases_pkey; Type: CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.databases
    ADD CONSTRAINT databases_pkey PRIMARY KEY (context);


--
-- Name: deletions deletions_pkey; Type: CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.deletions
    ADD CONSTRAINT deletions_pkey PRIMARY KEY (context, namespace, slot);


--
-- Name: keys keys_pkey; Type: CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (context, key);


--
-- Name: records records_pkey; Type: CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (context, namespace, slot);


--
-- Name: schema_version schema_version_pkey; Type: CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (one);


--
-- Name: wraps wraps_pkey; Type: CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.wraps
    ADD CONSTRAINT wraps_pkey PRIMARY KEY (context, key, recipient);


--
-- Name: commits_at; Type: INDEX; Schema: localdata; Owner: -
--

CREATE INDEX commits_at ON localdata.commits USING brin (at);


--
-- Name: deletions_at; Type: INDEX; Schema: localdata; Owner: -
--

CREATE INDEX deletions_at ON localdata.deletions USING brin (at);


--
-- Name: deletions_stamp; Type: INDEX; Schema: localdata; Owner: -
--

CREATE INDEX deletions_stamp ON localdata.deletions USING btree (context, stamp);


--
-- Name: records_key; Type: INDEX; Schema: localdata; Owner: -
--

CREATE INDEX records_key ON localdata.records USING btree (context, key);


--
-- Name: records_labels; Type: INDEX; Schema: localdata; Owner: -
--

CREATE INDEX records_labels ON localdata.records USING gin (labels);


--
-- Name: records_stamp; Type: INDEX; Schema: localdata; Owner: -
--

CREATE INDEX records_stamp ON localdata.records USING btree (context, stamp);


--
-- Name: keys keys_context_fkey; Type: FK CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.keys
    ADD CONSTRAINT keys_context_fkey FOREIGN KEY (context) REFERENCES localdata.databases(context);


--
-- Name: records records_context_key_fkey; Type: FK CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.records
    ADD CONSTRAINT records_context_key_fkey FOREIGN KEY (context, key) REFERENCES localdata.keys(context, key);


--
-- Name: wraps wraps_context_key_fkey; Type: FK CONSTRAINT; Schema: localdata; Owner: -
--

ALTER TABLE ONLY localdata.wraps
    ADD CONSTRAINT wraps_context_key_fkey FOREIGN KEY (context, key) REFERENCES localdata.keys(context, key) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--

\unrestrict 5O15JHyjUzoD4ZexLwWJM4C0CVBo1INKUiQarRurJWri2avbh40qATVXSPU8Wwd

