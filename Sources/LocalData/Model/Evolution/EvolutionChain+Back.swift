/// The way back, from the shape that a chain ends in to an older one.
extension EvolutionChain {
    /// The steps from the chain's end back to a version, the last one first; nil where one is missing or has no way back.
    func wayBack(to oldest: Int) -> [EvolutionStep]? {
        var way: [EvolutionStep] = []
        var version = self.version
        while version > oldest {
            guard let step = link(to: version), step.back != nil else { return nil }
            way.append(step)
            version = step.from.lowerBound
        }
        return version == oldest ? way : nil
    }

    /// Brings a value back over one step.
    func goBack(_ value: inout EvolvingValue, by step: EvolutionStep, entity: String, record: String) throws {
        let context = EvolutionContext(entity: entity, record: record, storedVersion: version, targetVersion: step.from.lowerBound)
        try step.back?(&value, context)
    }

    /// Why a value cannot be kept in the shape of a version; nil where it can.
    func problem(readableBy oldest: Int) -> String? {
        guard oldest < version, known.contains(oldest) else {
            return "it is to be readable by version \(oldest), which is not an earlier version of it"
        }
        var step = link(to: version)
        while let link = step, link.back != nil, link.from.lowerBound > oldest { step = self.link(to: link.from.lowerBound) }
        guard let step, step.back != nil, step.from.lowerBound == oldest else {
            return "no step leads back to version \(step?.from.lowerBound ?? oldest). Give the step from it a down: as well"
        }
        return nil
    }

    /// The link to a version from the nearest earlier one.
    private func link(to version: Int) -> EvolutionStep? {
        steps.filter { $0.role == .link && $0.to == version && $0.from.upperBound < version }.max {
            $0.from.upperBound < $1.from.upperBound
        }
    }
}
