// Compiles a condition on arguments: a JSON Schema in which every keyword must take effect.

import { createArgumentCheck } from './tools.ts'

type Schema = Readonly<Record<string, unknown>>

const annotationKeywords = ['title', 'description', '$comment']
const combinatorKeywords = ['anyOf', 'oneOf', 'allOf']
const keywordsByType: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  array: ['items', 'contains', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
}

/**
 * Creates the check for a condition.
 * @throws Error for a keyword that the check would ignore, because a call would then fall under another rule
 */
export function createCondition(when: Schema): (args: unknown) => boolean {
  const schema = { type: 'object', ...when }
  if (schema.type !== 'object') throw new Error('"type" must be "object", as arguments are')
  checkSchema(schema)
  const findFault = createArgumentCheck(schema)
  return args => findFault(args) === undefined
}

function checkSchema(schema: unknown): void {
  if (typeof schema === 'boolean') return
  if (!isSchema(schema)) throw new Error('a schema must be an object, "true" or "false"')
  const keywords = Object.keys(schema).filter(keyword => !annotationKeywords.includes(keyword))
  const misusedKeyword = keywords.find(keyword => !isUsable(keyword, schema[keyword]))
  if (misusedKeyword !== undefined)
    throw new Error(`"${misusedKeyword}" has a value of another kind than JSON Schema gives it`)
  if (keywords.includes('enum') || keywords.includes('const')) checkValues(schema, keywords)
  else checkKeywords(schema, keywords)
  for (const innerSchema of listInnerSchemas(schema)) checkSchema(innerSchema)
}

/** Returns true if the value of a keyword has the right type. The check ignores a value of another type. */
function isUsable(keyword: string, value: unknown): boolean {
  if (/^(min|max|exclusive|multiple)/.test(keyword)) return typeof value === 'number'
  if (keyword === 'pattern') return typeof value === 'string'
  if (keyword === 'properties') return isSchema(value)
  return !['required', 'enum', ...combinatorKeywords].includes(keyword) || (Array.isArray(value) && value.length > 0)
}

function checkValues(schema: Schema, keywords: readonly string[]): void {
  const otherKeyword = keywords.find(keyword => !['type', 'enum', 'const'].includes(keyword))
  if (otherKeyword !== undefined) throw new Error(`"${otherKeyword}" does not count beside "enum" or "const"`)
  const values = [...(Array.isArray(schema.enum) ? schema.enum : []), schema.const]
  if (values.some(value => typeof value === 'object' && value !== null)) {
    throw new Error('"enum" and "const" take no objects or lists')
  }
}

function checkKeywords(schema: Schema, keywords: readonly string[]): void {
  const types = [schema.type ?? []].flat().map(String)
  const unknownType = types.find(type => !Object.hasOwn(keywordsByType, type))
  if (unknownType === 'integer') throw new Error('"integer" misses large numbers: write "number"')
  if (unknownType !== undefined) throw new Error(`there is no type "${unknownType}"`)
  const effectiveKeywords = ['type', ...combinatorKeywords, ...types.flatMap(type => keywordsByType[type] ?? [])]
  const ignoredKeyword = keywords.find(keyword => !effectiveKeywords.includes(keyword))
  if (ignoredKeyword !== undefined) throw new Error(describeIgnoredKeyword(ignoredKeyword))
  if (types.length === 0 && keywords.length > 1) throw new Error(`"${keywords.join('" and "')}" need a "type" beside`)
  checkNamesAndPattern(schema)
}

function describeIgnoredKeyword(keyword: string): string {
  const [type] = Object.entries(keywordsByType).find(([, keywords]) => keywords.includes(keyword)) ?? []
  return type === undefined ? `"${keyword}" cannot be checked` : `"${keyword}" needs "type": "${type}" beside it`
}

function checkNamesAndPattern({ required = [], properties = {}, pattern }: Schema): void {
  const names = Array.isArray(required) ? required : []
  const missingName = names.find(name => !Object.hasOwn(Object(properties), String(name)))
  if (missingName !== undefined) throw new Error(`"properties" has no "${String(missingName)}", which "required" names`)
  if (pattern !== undefined && !isLinear(String(pattern))) {
    throw new Error('a "pattern" may repeat one thing at most, outside of groups, and must then begin with "^"')
  }
}

/** Returns true if the time to match grows at most linearly with the text. A repetition inside or after another one may take far longer. */
function isLinear(pattern: string): boolean {
  // Escapes and classes each match one character; a reference to a group does not.
  const plainPattern = pattern.replace(/\\[^1-9k]/g, 'x').replace(/\[[^\]]*\]/g, 'x')
  const withoutGroupText = withoutGroups(plainPattern)
  const [firstRepetition, ...otherRepetitions] = plainPattern.match(/[*+{]/g) ?? []
  if (plainPattern.includes('\\')) return false
  if (firstRepetition === undefined) return true
  return (
    otherRepetitions.length === 0 &&
    plainPattern.startsWith('^') &&
    !withoutGroupText.includes('|') &&
    /[^)][*+{]/.test(withoutGroupText)
  )
}

/** Removes the content of groups and keeps their parentheses. */
function withoutGroups(pattern: string): string {
  let depth = 0
  let result = ''
  for (const character of pattern) {
    if (character === ')') depth -= 1
    if (depth === 0) result += character
    if (character === '(') depth += 1
  }
  return result
}

function listInnerSchemas({
  properties,
  additionalProperties,
  items,
  contains,
  ...others
}: Schema): readonly unknown[] {
  const namedSchemas = Object.values(Object(properties))
  const singleSchemas = [additionalProperties, items, contains].filter(schema => schema !== undefined)
  return [...namedSchemas, ...singleSchemas, ...combinatorKeywords.flatMap(keyword => others[keyword] ?? [])]
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
