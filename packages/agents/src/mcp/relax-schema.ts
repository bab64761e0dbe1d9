// Relaxes the schema of a foreign tool, so that none of its regular expressions runs here.

type Schema = { readonly [keyword: string]: unknown }

/** Keywords whose value is a schema, a list of schemas, or a map of schemas (JSON Schema 2020-12 §10). */
const schemaKeywords = ['items', 'additionalProperties', 'propertyNames', 'additionalItems']
const schemaListKeywords = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const schemaMapKeywords = ['properties', '$defs', 'definitions']
/**
 * Regular expressions, and keywords that would reject more if a schema next to or inside them accepted more. Keywords that depend on the members
 * that `patternProperties` covers are dropped, too.
 */
const droppedKeywords = new Set([
  'pattern',
  'patternProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'dependentSchemas',
  'dependencies',
  'contains',
  'maxContains',
  'minContains',
  'not',
  'if',
  'then',
  'else',
])

/**
 * Returns a schema that accepts everything that the given one accepts, without regular expressions: a foreign expression may run for any time, and
 * the server checks its arguments itself. A schema without expressions stays as it is.
 */
export function relaxSchema(schema: Schema): Schema {
  return hasPattern(schema) ? relaxKeywords(schema) : schema
}

function hasPattern(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if ('pattern' in value || 'patternProperties' in value) return true
  return Object.values(value).some(hasPattern)
}

function relaxKeywords(schema: Schema): Schema {
  const relaxedSchema: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (droppedKeywords.has(keyword)) continue
    if (keyword === 'additionalProperties' && 'patternProperties' in schema) continue
    // Two branches of `oneOf` may match once they are relaxed.
    const name = keyword === 'oneOf' ? 'anyOf' : keyword
    if (keyword === 'oneOf' && 'anyOf' in schema) continue
    relaxedSchema[name] = relaxValue(keyword, value)
  }
  return relaxedSchema
}

function relaxValue(keyword: string, value: unknown): unknown {
  if (schemaKeywords.includes(keyword)) return Array.isArray(value) ? value.map(relaxIfSchema) : relaxIfSchema(value)
  if (schemaListKeywords.includes(keyword)) return Array.isArray(value) ? value.map(relaxIfSchema) : value
  if (!schemaMapKeywords.includes(keyword) || !isSchema(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, relaxIfSchema(member)]))
}

function relaxIfSchema(value: unknown): unknown {
  return isSchema(value) ? relaxKeywords(value) : value
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
