public import LocalData

/// Aliases with the attribute type names of Core Data.
extension AttributeType {
    /// A text.
    public static var stringAttributeType: AttributeType { .string }
    /// A Boolean value.
    public static var booleanAttributeType: AttributeType { .boolean }
    /// An integer. The Swift type of the property defines its width.
    public static var integer16AttributeType: AttributeType { .integer }
    /// An integer. The Swift type of the property defines its width.
    public static var integer32AttributeType: AttributeType { .integer }
    /// An integer.
    public static var integer64AttributeType: AttributeType { .integer }
    /// A floating-point number.
    public static var floatAttributeType: AttributeType { .double }
    /// A floating-point number.
    public static var doubleAttributeType: AttributeType { .double }
    /// A decimal number of any precision.
    public static var decimalAttributeType: AttributeType { .decimal }
    /// A point in time.
    public static var dateAttributeType: AttributeType { .date }
    /// Bytes.
    public static var binaryDataAttributeType: AttributeType { .data }
    /// A universally unique identifier.
    public static var UUIDAttributeType: AttributeType { .uuid }
}
