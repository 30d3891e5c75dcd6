// The samples of the guides that use macros. `Scripts/check-snippets` compares them with the guides.
// snippet.hide
#if Macros
    import Foundation
    import TestSupport
    import Testing
    // snippet.show
    import LocalDataModels
    // snippet.hide

    enum GuideModels {
        // snippet.show

        @StorageModel struct Card: Identifiable {
            var id: String
            var name: String
            var stars: Int = 0  // 0 for an older value without it
            @Attribute(originalName: "colour") var color: String?  // its name in older values
            @Transient var isSelected = false  // never stored
        }
        // snippet.hide
    }

    @Suite(.inTurn) struct GuideModelTests {
        @Test func `when an older card is read, the new property has its default value, and the renamed property keeps its value`()
            async throws
        {
            let storage = StorageRouter(configuration: .inMemory())
            let cards = StorageKeyGroup(owner: "Tests", domain: .userDefaults)
            let old: StorageKey<StoredDocument> = cards.key("card", "A card")
            try await storage.set(StoredDocument(["id": "1", "name": "Kari", "colour": "red"]), for: old)
            var card = try await storage.get(cards.key("card", "A card") as StorageKey<GuideModels.Card>)
            #expect(card.stars == 0)
            #expect(card.color == "red")
            card.isSelected = true
            try await storage.set(card, for: cards.key("card", "A card"))
            #expect(try await storage.get(old).names == ["color", "id", "name", "stars"])
        }
    }
#endif
