// Formats zod schemas as Python `TypedDict` classes.
import type { Schema, SchemaDefinition } from './bounds.ts'
import { definitionOf } from './bounds.ts'
import type { KeyComments, SchemaName } from './key-comments.ts'
import { isWhole, unwrapSchema } from './rows.ts'

type ShapeDefinition = Extract<SchemaDefinition, { type: 'object' }>
type UnionDefinition = Extract<SchemaDefinition, { type: 'union' }>

/** A schema with its own Python type. */
interface PythonRoot {
  readonly name: string
  /** The docstring of the type, or the comment above it. */
  readonly sentence: string
  readonly schema: Schema
  /** The source with the doc comments of the keys. */
  readonly source: SchemaName
}

interface TypePosition {
  /** The name of an object or union at this position, unless the schema has a name. */
  readonly name: string
  readonly source: SchemaName
  readonly path: readonly string[]
}

/** Words that cannot name a member of a class. */
const keywords = new Set(['as', 'async', 'class', 'def', 'from', 'global', 'import', 'in', 'is', 'not', 'pass', 'with'])

/** Formats a class name: `content_addressed` becomes `ContentAddressed`. */
const formatClassName = (name: string) =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/**
 * Formats a `TypedDict` for each root and for the types that it needs, which come first. `names` holds the schemas that several roots
 * share.
 */
export function formatPythonTypes(
  roots: readonly PythonRoot[],
  names: ReadonlyMap<Schema, string>,
  comments: Pick<KeyComments, 'findComment'>,
): string {
  const typeNames = new Map(names)
  const writtenTypes = new Map<string, string>()
  const writer: Writer = { typeNames, writtenTypes, comments }
  for (const { name, sentence, schema, source } of roots) {
    typeNames.set(schema, name)
    const type = typeOf(writer, schema, { name, source, path: [] })
    writtenTypes.set(name, addSentence(writtenTypes.get(name) ?? `${name} = ${type}`, name, sentence))
  }
  return [...writtenTypes.values()].join('\n\n\n')
}

interface Writer {
  readonly typeNames: Map<Schema, string>
  /** The definitions by name. */
  readonly writtenTypes: Map<string, string>
  readonly comments: Pick<KeyComments, 'findComment'>
}

function addSentence(definition: string, name: string, sentence: string): string {
  const head = new RegExp(`^class ${name}\\(.*$`, 'm')
  return head.test(definition)
    ? definition.replace(head, line => `${line}\n    """${sentence}"""\n`)
    : `# ${sentence}\n${definition}`
}

/** Returns the annotation of a schema, and first writes the types that the schema needs. */
function typeOf(writer: Writer, schema: Schema, position: TypePosition): string {
  const { schema: innerSchema } = unwrapSchema(schema)
  const definition = definitionOf(innerSchema)
  const name = writer.typeNames.get(innerSchema)
  if (name !== undefined && writer.writtenTypes.has(name)) return name
  switch (definition.type) {
    case 'object':
      // A `TypedDict` cannot have unnamed members, and nearly all members of these objects are unnamed.
      if (isOpen(definition) && name === undefined) return 'dict[str, Any]'
      return writeNamed(writer, innerSchema, { ...position, name: name ?? position.name })
    case 'union':
      return writeNamed(writer, innerSchema, { ...position, name: name ?? position.name })
    case 'array':
      return `list[${typeOf(writer, definition.element, { ...position, path: [...position.path, '[]'] })}]`
    case 'record':
      return `dict[str, ${typeOf(writer, definition.valueType, { ...position, path: [...position.path, '*'] })}]`
    case 'enum':
      return formatLiteral(Object.values(definition.entries))
    case 'literal':
      return formatLiteral(definition.values)
    case 'string':
      return 'str'
    case 'boolean':
      return 'bool'
    case 'number':
      return isWhole(definition) ? 'int' : 'float'
    default:
      return 'Any'
  }
}

/** Returns true if a schema names exactly one member and accepts any others. */
function isOpen({ catchall, shape }: ShapeDefinition): boolean {
  return catchall !== undefined && definitionOf(catchall).type === 'unknown' && Object.keys(shape).length === 1
}

const formatLiteral = (values: readonly unknown[]) => `Literal[${values.map(formatPythonValue).join(', ')}]`

function formatPythonValue(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return value === null ? 'None' : JSON.stringify(value)
}

function writeNamed(writer: Writer, schema: Schema, position: TypePosition): string {
  const definition = definitionOf(schema) as ShapeDefinition | UnionDefinition
  if (definition.type === 'union' && !definition.options.every(isObject)) {
    return definition.options.map(option => typeOf(writer, option, position)).join(' | ')
  }
  const { name } = position
  if (writer.writtenTypes.has(name)) return name
  const text =
    definition.type === 'union' ? formatUnion(writer, definition, position) : formatClass(writer, definition, position)
  writer.writtenTypes.set(name, text)
  return name
}

const isObject = (schema: Schema) => definitionOf(unwrapSchema(schema).schema).type === 'object'

/** Formats a union whose alternatives differ by one key. The value of that key begins their names. */
function formatUnion(writer: Writer, definition: UnionDefinition, position: TypePosition): string {
  const key = 'discriminator' in definition ? String(definition.discriminator) : ''
  const options = definition.options.map(option => {
    const { shape } = definitionOf(option) as ShapeDefinition
    const kind = shape[key] && definitionOf(shape[key])
    if (kind?.type !== 'literal' && !writer.typeNames.has(option)) {
      throw new Error(`Cannot name an alternative of ${position.name}: "${key}" is no single word; give it a name`)
    }
    const word = kind?.type === 'literal' ? formatClassName(String(kind.values[0])) : ''
    return typeOf(writer, option, { ...position, name: word + position.name })
  })
  return `${position.name} = ${options.join(' | ')}`
}

function formatClass(writer: Writer, { shape }: ShapeDefinition, position: TypePosition): string {
  const members = Object.entries(shape).map(([key, schema]) => {
    const type = typeOf(writer, schema, {
      ...position,
      name: position.name + formatClassName(key),
      path: [...position.path, key],
    })
    const { isRequired } = unwrapSchema(schema)
    // A key with a single value only tells alternatives apart.
    const sentence = /^Literal\["[^"]*"\]$/.test(type)
      ? ''
      : writer.comments.findComment(position.source, [...position.path, key])
    return { key, type: isRequired ? type : `NotRequired[${type}]`, sentence }
  })
  const awkward = members.filter(({ key }) => keywords.has(key))
  const base = awkward.length > 0 ? `${position.name}Words` : 'TypedDict'
  const fields = awkward.map(({ key, type }) => `"${key}": ${type}`).join(', ')
  const plain = members
    .filter(({ key }) => !keywords.has(key))
    .flatMap(({ key, type, sentence }) => [`    ${key}: ${type}`, ...(sentence ? [`    """${sentence}"""`] : [])])
  const head = awkward.length > 0 ? [`${base} = TypedDict("${base}", {${fields}})`, '', ''] : []
  return [...head, `class ${position.name}(${base}):`, ...plain].join('\n')
}
