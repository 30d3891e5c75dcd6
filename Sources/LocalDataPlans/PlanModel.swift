import LocalData

/// An error in a plan, and the part of the plan that contains it.
struct PlanProblem: Error {
    let place: String
    let what: String
}

/// The schema of one entity (a key or a collection) at one version of a plan.
struct EntityModel: Sendable {
    var attributes: [AttributeDescription] = []
    /// The attributes that the plan has removed.
    var removed: Set<String> = []
    /// Whether the entity may have attributes that the plan does not mention.
    var isOpen = false
    /// The version of the entity's records; 0 if it is unknown.
    var version = 1
    /// The steps that convert earlier records to this version.
    var chain = EvolutionChain(base: 1)

    private func index(of name: String) -> Int? { attributes.firstIndex { $0.name == name } }

    mutating func apply(_ change: SchemaPlan.AttributeChange, areRecordsThere: Bool, stage: SchemaPlan.Stage) throws(PlanProblem) {
        func problem(_ what: String) -> PlanProblem { PlanProblem(place: change.spelling, what: what) }
        switch change.verb {
        case .add(let type, let isOptional, let defaultValue, let compute):
            if index(of: change.name) != nil { throw problem("there is such an attribute already") }
            if let defaultValue, !defaultValue.isNull, type.converted(defaultValue) == nil { throw problem("its default is no \(type)") }
            let hasValue = compute != nil || defaultValue.map { !$0.isNull } ?? false
            if areRecordsThere, !isOptional, !hasValue {
                throw problem("it is required, and the records that are there lack it: give it a default, or compute it")
            }
            if stage == .lightweight, compute != nil { throw problem("a computed value cannot be inferred: make the stage a custom one") }
            attributes.append(AttributeDescription(change.name, type, isOptional: isOptional, default: defaultValue))
            removed.remove(change.name)
        case .update(let update):
            if index(of: change.name) == nil, !isOpen || removed.contains(change.name) { throw problem("there is no such attribute") }
            var attribute = index(of: change.name).map { attributes[$0] } ?? AttributeDescription(change.name, .named(""), isOptional: true)
            let isKnown = index(of: change.name) != nil
            if let newName = update.newName, newName != change.name, index(of: newName) != nil {
                throw problem("there is an attribute \(newName) already")
            }
            if let type = update.type {
                if update.transform == nil, !type.canConvert(from: attribute.type) {
                    throw problem("the type \(attribute.type) cannot become \(type)")
                }
                if stage == .lightweight, type != attribute.type {
                    throw problem("a change of type cannot be inferred: make the stage a custom one")
                }
                attribute.type = type
            }
            if stage == .lightweight, update.transform != nil {
                throw problem("a transformation cannot be inferred: make the stage a custom one")
            }
            if let defaultValue = update.defaultValue, !defaultValue.isNull {
                if attribute.type.converted(defaultValue) == nil { throw problem("its default is no \(attribute.type)") }
                attribute.defaultValue = defaultValue
            }
            if let isOptional = update.isOptional {
                if !isOptional, attribute.isOptional, update.defaultValue == nil, update.transform == nil {
                    throw problem("it becomes required, and records may lack it: give it a default, or a transformation")
                }
                attribute.isOptional = isOptional
            }
            if let newName = update.newName {
                removed.insert(change.name)
                attribute.name = newName
            }
            removed.remove(attribute.name)
            // If the plan has not mentioned the attribute before, the properties that the update does not set remain
            // unknown.
            if !isKnown, update.type == nil || update.isOptional == nil { attribute.type = update.type ?? .named("") }
            if let place = index(of: change.name) { attributes[place] = attribute } else { attributes.append(attribute) }
        case .remove:
            guard let place = index(of: change.name) else {
                if isOpen, removed.insert(change.name).inserted { return }
                throw problem("there is no such attribute")
            }
            attributes.remove(at: place)
            removed.insert(change.name)
        }
    }

    /// Describes the differences from a declared entity. Unknown properties are not compared.
    func differences(in declared: EntityDescription) -> [String] {
        if !isOpen { return declared.differences(from: EntityDescription(declared.name, attributes)) }
        var found: [String] = []
        for attribute in attributes {
            guard let other = declared.attribute(attribute.name) else {
                found.append("\(declared.name).\(attribute.name) is gone")
                continue
            }
            if attribute.type == .named("") { continue }
            found += EntityDescription(declared.name, [other]).differences(from: EntityDescription(declared.name, [attribute]))
        }
        return found + removed.sorted().filter { declared.attribute($0) != nil }.map { "\(declared.name).\($0) is new" }
    }
}

/// The schema of a catalog's entities at one version of a plan.
struct PlanModel: Sendable {
    var entities: [String: EntityModel] = [:]
    var removed: Set<String> = []
    /// Whether the catalog may have entities that the plan does not mention.
    var isOpen = false

    /// The model of an entity that must exist.
    func existing(_ name: String, at place: String) throws(PlanProblem) -> EntityModel {
        if let entity = entities[name] { return entity }
        guard isOpen, !removed.contains(name) else { throw PlanProblem(place: place, what: "there is no entity \(name)") }
        return EntityModel(isOpen: true, version: 0)
    }

    /// Removes an entity.
    mutating func remove(_ name: String) {
        entities[name] = nil
        removed.insert(name)
    }

    func requireAbsence(of name: String, at place: String) throws(PlanProblem) {
        if entities[name] != nil { throw PlanProblem(place: place, what: "there is an entity \(name) already") }
    }

    /// Describes the differences from another model.
    func differences(in other: PlanModel) -> [String] {
        var found: [String] = []
        for name in Set(entities.keys).union(other.entities.keys).sorted() {
            switch (entities[name], other.entities[name]) {
            case (let mine?, let theirs?): found += mine.differences(in: EntityDescription(name, theirs.attributes))
            case (nil, _): if !isOpen { found.append("\(name) is new") }
            case (_, nil): found.append("\(name) is gone")
            }
        }
        return found
    }

    /// Describes the differences from a declared schema.
    func differences(in schema: CatalogSchema) -> [String] {
        var declared = PlanModel()
        for entity in schema.entities { declared.entities[entity.name] = EntityModel(attributes: entity.attributes) }
        return differences(in: declared) + (isOpen ? removed.sorted().filter { declared.entities[$0] != nil }.map { "\($0) is new" } : [])
    }
}
