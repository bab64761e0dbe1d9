import { formatInlineCode, formatMarkdownTable } from '../markdown.ts'
import type { Schema } from './bounds.ts'
import { formatNumber } from './bounds.ts'
import type { KeyComments, SchemaName } from './key-comments.ts'
import type { NamedSchemas, SchemaRow } from './rows.ts'
import { listSchemaRows } from './rows.ts'

interface SchemaTableOptions {
  readonly comments: Pick<KeyComments, 'find'>
  /** Where the source declares the schema. */
  readonly source: SchemaName
  readonly named?: NamedSchemas
  /** Which keys; default: all. */
  readonly filter?: (row: SchemaRow) => boolean
  /** Defaults that another part of the program gives, by key. */
  readonly defaults?: Readonly<Record<string, string>>
}

/** The keys of a schema, a row each. @throws Error when a key has no sentence */
export function formatSchemaTable(schema: Schema, options: SchemaTableOptions): string {
  const { comments, source, named, filter = () => true, defaults = {} } = options
  const rows = listSchemaRows(schema, named).filter(filter)
  const described = rows.map(row => ({ row, sentence: comments.find(source, row.path) }))
  const silent = described.filter(({ row, sentence }) => sentence === '' && !row.hasKeys)
  if (silent.length > 0) {
    const keys = silent.map(({ row }) => formatPath(row.path)).join(', ')
    throw new Error(
      `Cannot describe ${keys} of ${source.name}: write a doc comment at each in ${source.file} or where it takes them from`,
    )
  }
  return formatMarkdownTable(
    ['key', 'value', 'meaning'],
    described
      .filter(({ sentence }) => sentence !== '')
      .map(({ row, sentence }) => [
        formatInlineCode(formatPath(row.path)),
        [formatType(row.type), describeDefault(defaults[formatPath(row.path)] ?? formatDefault(row)), ...row.bounds]
          .filter(Boolean)
          .join('; '),
        sentence,
      ]),
  )
}

function describeDefault(text: string): string {
  return text === '' || text === 'required' ? text : `default ${text}`
}

/** `*` is any name, and `[]` follows what is a list. */
function formatPath(path: readonly string[]): string {
  return path.join('.').replaceAll('.[]', '[]')
}

function formatType(type: string): string {
  return type.replace(/"[^"]*"/g, word => formatInlineCode(word))
}

function formatDefault({ default: value, isRequired }: SchemaRow): string {
  if (value === undefined) return isRequired ? 'required' : ''
  return /^\d+$/.test(value) ? formatNumber(Number(value)) : formatInlineCode(value)
}
