import type { Schema, SchemaDefinition } from './bounds.ts'
import { definitionOf } from './bounds.ts'
import type { KeyComments, SchemaName } from './key-comments.ts'
import { isWhole, unwrapSchema } from './rows.ts'

type ShapeDefinition = Extract<SchemaDefinition, { type: 'object' }>
type UnionDefinition = Extract<SchemaDefinition, { type: 'union' }>

/** A schema that becomes a type of its own. */
interface PythonRoot {
  readonly name: string
  /** Its docstring, or the comment above it. */
  readonly sentence: string
  readonly schema: Schema
  /** Where the doc comments of its keys are. */
  readonly source: SchemaName
}

interface Place {
  /** What an object or union here is called, unless it has a name. */
  readonly name: string
  readonly source: SchemaName
  readonly path: readonly string[]
}

/** Words that cannot be the name of a member in a class. */
const keywords = new Set(['as', 'async', 'class', 'def', 'from', 'global', 'import', 'in', 'is', 'not', 'pass', 'with'])

/** `content_addressed` → `ContentAddressed` */
const formatClassName = (words: string) =>
  words
    .split(/[^A-Za-z0-9]+/)
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/** Python's `TypedDict` for each root and for what it holds; what a type needs stands above it. `names` are of schemas that more than one place has. */
export function formatPythonTypes(
  roots: readonly PythonRoot[],
  names: ReadonlyMap<Schema, string>,
  comments: Pick<KeyComments, 'find'>,
): string {
  const known = new Map(names)
  const written = new Map<string, string>()
  const writer: Writer = { known, written, comments }
  for (const { name, sentence, schema, source } of roots) {
    known.set(schema, name)
    typeOf(writer, schema, { name, source, path: [] })
    written.set(name, addSentence(written.get(name) ?? '', name, sentence))
  }
  return [...written.values()].join('\n\n\n')
}

interface Writer {
  readonly known: Map<Schema, string>
  /** Definitions by name. */
  readonly written: Map<string, string>
  readonly comments: Pick<KeyComments, 'find'>
}

function addSentence(definition: string, name: string, sentence: string): string {
  const head = new RegExp(`^class ${name}\\(.*$`, 'm')
  return head.test(definition)
    ? definition.replace(head, line => `${line}\n    """${sentence}"""\n`)
    : `# ${sentence}\n${definition}`
}

/** The annotation of a schema; types that it needs are written first. */
function typeOf(writer: Writer, schema: Schema, place: Place): string {
  const { schema: bare } = unwrapSchema(schema)
  const definition = definitionOf(bare)
  const name = writer.known.get(bare)
  if (name !== undefined && writer.written.has(name)) return name
  switch (definition.type) {
    case 'object':
    case 'union':
      return writeNamed(writer, bare, { ...place, name: name ?? place.name })
    case 'array':
      return `list[${typeOf(writer, definition.element, { ...place, path: [...place.path, '[]'] })}]`
    case 'record':
      return `dict[str, ${typeOf(writer, definition.valueType, { ...place, path: [...place.path, '*'] })}]`
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

const formatLiteral = (values: readonly unknown[]) =>
  `Literal[${values.map(value => JSON.stringify(value)).join(', ')}]`

function writeNamed(writer: Writer, schema: Schema, place: Place): string {
  const definition = definitionOf(schema) as ShapeDefinition | UnionDefinition
  if (definition.type === 'union' && !definition.options.every(isObject)) {
    return definition.options.map(option => typeOf(writer, option, place)).join(' | ')
  }
  const { name } = place
  if (writer.written.has(name)) return name
  const text =
    definition.type === 'union' ? formatUnion(writer, definition, place) : formatClass(writer, definition, place)
  writer.written.set(name, text)
  return name
}

const isObject = (schema: Schema) => definitionOf(unwrapSchema(schema).schema).type === 'object'

/** Its alternatives are told apart by one key, whose value begins their names. */
function formatUnion(writer: Writer, definition: UnionDefinition, place: Place): string {
  const key = 'discriminator' in definition ? String(definition.discriminator) : ''
  const options = definition.options.map(option => {
    const { shape } = definitionOf(option) as ShapeDefinition
    const kind = shape[key] && definitionOf(shape[key])
    if (kind?.type !== 'literal' && !writer.known.has(option)) {
      throw new Error(`Cannot name an alternative of ${place.name}: "${key}" is no single word; give it a name`)
    }
    const word = kind?.type === 'literal' ? formatClassName(String(kind.values[0])) : ''
    return typeOf(writer, option, { ...place, name: word + place.name })
  })
  return `${place.name} = ${options.join(' | ')}`
}

function formatClass(writer: Writer, { shape }: ShapeDefinition, place: Place): string {
  const members = Object.entries(shape).map(([key, schema]) => {
    const type = typeOf(writer, schema, {
      ...place,
      name: place.name + formatClassName(key),
      path: [...place.path, key],
    })
    const { isRequired } = unwrapSchema(schema)
    // A key that has one value only tells alternatives apart.
    const sentence = /^Literal\["[^"]*"\]$/.test(type) ? '' : writer.comments.find(place.source, [...place.path, key])
    return { key, type: isRequired ? type : `NotRequired[${type}]`, sentence }
  })
  const awkward = members.filter(({ key }) => keywords.has(key))
  const base = awkward.length > 0 ? `${place.name}Words` : 'TypedDict'
  const words = awkward.map(({ key, type }) => `"${key}": ${type}`).join(', ')
  const plain = members
    .filter(({ key }) => !keywords.has(key))
    .flatMap(({ key, type, sentence }) => [`    ${key}: ${type}`, ...(sentence ? [`    """${sentence}"""`] : [])])
  const head = awkward.length > 0 ? [`${base} = TypedDict("${base}", {${words}})`, '', ''] : []
  return [...head, `class ${place.name}(${base}):`, ...plain].join('\n')
}
