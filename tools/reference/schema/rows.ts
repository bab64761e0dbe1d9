// Lists the keys of a zod schema as rows of a table.
import { formatInlineCode, formatMarkdownTable } from '../markdown.ts'
import type { Schema, SchemaDefinition } from './bounds.ts'
import { definitionOf, formatNumber, listBounds } from './bounds.ts'
import type { KeyComments, SchemaName } from './key-comments.ts'

/** One key of a schema, in the form of a table row. */
export interface SchemaRow {
  /** The path of the key; `*` stands for any name, and `[]` for an entry of a list. */
  readonly path: readonly string[]
  readonly type: string
  /** The default as JSON. Absent if the key has none. */
  readonly default?: string
  readonly isRequired: boolean
  /** True for an object whose keys have their own rows. */
  readonly hasKeys: boolean
  readonly bounds: readonly string[]
}

/** Schemas with their own section, and the names that tables use for them. Tables do not repeat their keys. */
export type NamedSchemas = ReadonlyMap<Schema, string>

/** Lists the keys of an object, each followed by the keys of its value. */
export function listSchemaRows(
  schema: Schema,
  namedSchemas: NamedSchemas = new Map(),
  path: readonly string[] = [],
): readonly SchemaRow[] {
  const { schema: innerSchema } = unwrapSchema(schema)
  if (path.length > 0 && namedSchemas.has(innerSchema)) return []
  const definition = definitionOf(innerSchema)
  const listInnerRows = (inner: Schema, pathSegment: string) =>
    listSchemaRows(inner, namedSchemas, [...path, pathSegment])
  switch (definition.type) {
    case 'object':
      return Object.entries(definition.shape).flatMap(([key, inner]) => {
        const keys = listInnerRows(inner, key)
        return [describeKey([...path, key], inner, { namedSchemas, hasKeys: keys.length > 0 }), ...keys]
      })
    case 'array':
      return listInnerRows(definition.element, '[]')
    case 'record':
      return listInnerRows(definition.valueType, '*')
    case 'union': {
      const kindKey = 'discriminator' in definition ? String(definition.discriminator) : undefined
      return joinRows(
        definition.options.map(option => listSchemaRows(option, namedSchemas, path)),
        kindKey === undefined ? undefined : [...path, kindKey],
      )
    }
    default:
      return []
  }
}

/**
 * Joins the rows of alternatives. A key that several alternatives share gets one row. If only some alternatives have a key, its row
 * names the values of the discriminator for which the key applies.
 */
function joinRows(
  options: readonly (readonly SchemaRow[])[],
  kindPath: readonly string[] | undefined,
): readonly SchemaRow[] {
  const rows = options.flat()
  const ids = [...new Set(rows.map(idOf))]
  return ids.map(id => {
    const rowsOfKey = rows.filter(row => idOf(row) === id)
    const optionsWithKey = options.filter(option => option.some(row => idOf(row) === id))
    const kinds = optionsWithKey.flatMap(
      option => option.find(row => kindPath && idOf(row) === kindPath.join('.'))?.type ?? [],
    )
    const kindNote =
      optionsWithKey.length === options.length || kinds.length === 0 ? [] : [describeCondition(kindPath, kinds)]
    return {
      ...mergeRows(rowsOfKey),
      bounds: [...new Set([...kindNote, ...rowsOfKey.flatMap(({ bounds }) => bounds)])],
    }
  })
}

const idOf = ({ path }: SchemaRow) => path.join('.')

function describeCondition(kindPath: readonly string[] | undefined, kinds: readonly string[]): string {
  return `where \`${kindPath?.at(-1)}\` is ${kinds.map(kind => kind.replace(/"[^"]*"/g, word => `\`${word}\``)).join(' or ')}`
}

function mergeRows(rows: readonly SchemaRow[]): SchemaRow {
  const [first, ...otherRows] = rows
  if (!first) throw new Error('Cannot join rows: there are none')
  const types = [...new Set([first, ...otherRows].map(({ type }) => type))]
  return { ...first, type: types.join(' or '), isRequired: rows.every(({ isRequired }) => isRequired) }
}

interface KeyOptions {
  readonly namedSchemas: NamedSchemas
  readonly hasKeys: boolean
}

function describeKey(path: readonly string[], schema: Schema, { namedSchemas, hasKeys }: KeyOptions): SchemaRow {
  const { schema: innerSchema, ...property } = unwrapSchema(schema)
  const isObject = definitionOf(innerSchema).type === 'object'
  return {
    path,
    type: describeType(innerSchema, namedSchemas),
    ...property,
    hasKeys: hasKeys && isObject,
    bounds: listBounds(schema),
  }
}

interface UnwrappedSchema extends Pick<SchemaRow, 'isRequired' | 'default'> {
  readonly schema: Schema
}

/** Unwraps a schema that is optional or transformed. */
export function unwrapSchema(schema: Schema): UnwrappedSchema {
  const definition = definitionOf(schema)
  switch (definition.type) {
    case 'optional':
      return { ...unwrapSchema(definition.innerType), isRequired: false }
    case 'default':
    case 'prefault': {
      const value = formatDefault(definition.defaultValue)
      return {
        ...unwrapSchema(definition.innerType),
        isRequired: false,
        ...(value !== undefined && { default: value }),
      }
    }
    case 'pipe':
      return unwrapSchema(definition.in)
    case 'readonly':
      return unwrapSchema(definition.innerType)
    default:
      return { schema, isRequired: true }
  }
}

/** Formats a default. A default of `{}` is left out, because it only says that the keys have their own defaults. */
function formatDefault(value: unknown): string | undefined {
  return JSON.stringify(value) === '{}' ? undefined : formatJson(value)
}

const formatJson = (value: unknown) => JSON.stringify(value, undefined, 1).replace(/\s*\n\s*/g, ' ')

/** Describes the type of a value in a few words. */
function describeType(schema: Schema, namedSchemas: NamedSchemas): string {
  const { schema: innerSchema } = unwrapSchema(schema)
  const definition = definitionOf(innerSchema)
  const name = namedSchemas.get(innerSchema)
  if (name !== undefined) return name
  switch (definition.type) {
    case 'array':
      return `list of ${describeType(definition.element, namedSchemas)}`
    case 'record':
      return `object of ${describeType(definition.valueType, namedSchemas)}`
    case 'union':
      return [...new Set(definition.options.map(option => describeType(option, namedSchemas)))].join(' or ')
    case 'enum':
      return Object.values(definition.entries)
        .map(value => `"${value}"`)
        .join(Object.keys(definition.entries).length > 3 ? ', ' : ' or ')
    case 'literal':
      return definition.values.map(value => formatJson(value)).join(definition.values.length > 3 ? ', ' : ' or ')
    case 'number':
      return isWhole(definition) ? 'integer' : 'number'
    case 'unknown':
    case 'any':
    case 'lazy':
    case 'custom':
      return 'any JSON'
    default:
      return definition.type
  }
}

export function isWhole(definition: SchemaDefinition): boolean {
  const checks = (definition.checks ?? []).map(check => check._zod.def as { readonly check?: string })
  return [definition as { readonly check?: string }, ...checks].some(({ check }) => check === 'number_format')
}

interface SchemaTableOptions {
  readonly comments: Pick<KeyComments, 'findComment'>
  /** The source that declares the schema. */
  readonly source: SchemaName
  readonly namedSchemas?: NamedSchemas
  /** Selects keys. Default: all. */
  readonly filter?: (row: SchemaRow) => boolean
  /** Defaults that another part of the program sets, by key. */
  readonly defaults?: Readonly<Record<string, string>>
}

/** Formats the keys of a schema as a table with a row for each. @throws Error for a key without a sentence */
export function formatSchemaTable(schema: Schema, options: SchemaTableOptions): string {
  const { comments, source, namedSchemas, filter = () => true, defaults = {} } = options
  const rows = listSchemaRows(schema, namedSchemas).filter(filter)
  const describedRows = rows.map(row => ({ row, sentence: comments.findComment(source, row.path) }))
  const undescribedRows = describedRows.filter(({ row, sentence }) => sentence === '' && !row.hasKeys)
  if (undescribedRows.length > 0) {
    const keys = undescribedRows.map(({ row }) => formatPath(row.path)).join(', ')
    throw new Error(
      `Cannot describe ${keys} of ${source.name}: write a doc comment at each in ${source.file} or where it takes them from`,
    )
  }
  return formatMarkdownTable(
    ['key', 'value', 'meaning'],
    describedRows
      .filter(({ sentence }) => sentence !== '')
      .map(({ row, sentence }) => [
        formatInlineCode(formatPath(row.path)),
        [formatType(row.type), describeDefault(row, defaults[formatPath(row.path)]), ...row.bounds]
          .filter(Boolean)
          .join('; '),
        sentence,
      ]),
  )
}

function describeDefault({ default: value, isRequired }: SchemaRow, override: string | undefined): string {
  if (override !== undefined) return `default ${override}`
  if (value === undefined) return isRequired ? 'required' : ''
  return `default ${/^\d+$/.test(value) ? formatNumber(Number(value)) : formatInlineCode(value)}`
}

/** Formats a path, in which `*` is any name and `[]` follows a list. */
function formatPath(path: readonly string[]): string {
  return path.join('.').replaceAll('.[]', '[]')
}

function formatType(type: string): string {
  return type.replace(/"[^"]*"/g, word => formatInlineCode(word))
}
