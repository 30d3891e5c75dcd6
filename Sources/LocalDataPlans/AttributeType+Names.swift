public import LocalData

/// The types by the names that plans for other stores use.
extension AttributeType {
    /// A text.
    public static var stringAttributeType: AttributeType { .string }
    /// A truth value.
    public static var booleanAttributeType: AttributeType { .boolean }
    /// A whole number; how many bits it has is the Swift type's to say.
    public static var integer16AttributeType: AttributeType { .integer }
    /// A whole number; how many bits it has is the Swift type's to say.
    public static var integer32AttributeType: AttributeType { .integer }
    /// A whole number.
    public static var integer64AttributeType: AttributeType { .integer }
    /// A number.
    public static var floatAttributeType: AttributeType { .double }
    /// A number.
    public static var doubleAttributeType: AttributeType { .double }
    /// A decimal number of any length.
    public static var decimalAttributeType: AttributeType { .decimal }
    /// A point in time.
    public static var dateAttributeType: AttributeType { .date }
    /// Bytes.
    public static var binaryDataAttributeType: AttributeType { .data }
    /// A universally unique identifier.
    public static var UUIDAttributeType: AttributeType { .uuid }
}
