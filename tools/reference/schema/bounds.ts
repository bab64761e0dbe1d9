// Describes the bounds of a zod schema in words.
import type { z } from 'zod'

export type Schema = z.core.$ZodType
export type SchemaDefinition = z.core.$ZodTypes['_zod']['def']

export const definitionOf = (schema: Schema) => schema._zod.def as SchemaDefinition

type Check = z.core.$ZodChecks['_zod']['def'] & {
  readonly error?: (issue: never) => unknown
  readonly path?: readonly PropertyKey[]
}

/** Lists the bounds of a value in addition to its type, with a phrase for each. */
export function listBounds(schema: Schema): readonly string[] {
  const layers = listLayers(schema)
  const innermost = layers.at(-1)
  const inner =
    innermost?.type === 'array' ? listBounds(innermost.element).map(elementBound => `each ${elementBound}`) : []
  const checks = layers.flatMap(layer => readChecks(layer).flatMap(check => describeCheck(check, innermost?.type)))
  return [...new Set([...checks, ...inner])]
}

/** Lists a schema and all schemas that it wraps, the outermost first. */
function listLayers(schema: Schema): readonly SchemaDefinition[] {
  const definition = definitionOf(schema)
  switch (definition.type) {
    case 'optional':
    case 'default':
    case 'prefault':
    case 'readonly':
      return [definition, ...listLayers(definition.innerType)]
    case 'pipe':
      return [
        definition,
        ...listLayers(definition.in),
        ...('checks' in definition.out._zod.def ? listLayers(definition.out) : []),
      ]
    default:
      return [definition]
  }
}

function readChecks(definition: SchemaDefinition): readonly Check[] {
  const ownChecks = 'check' in definition ? [definition as unknown as Check] : []
  return [...ownChecks, ...(definition.checks ?? []).map(check => check._zod.def as unknown as Check)]
}

function describeCheck(check: Check, type: string | undefined): readonly string[] {
  const message = readMessage(check)
  if (message !== undefined) return [message]
  const unit = type === 'array' ? 'entries' : 'characters'
  switch (check.check) {
    case 'greater_than':
      return [`${check.inclusive ? 'at least' : 'more than'} ${formatNumber(Number(check.value))}`]
    case 'less_than':
      return [`${check.inclusive ? 'at most' : 'less than'} ${formatNumber(Number(check.value))}`]
    case 'min_length':
      return [check.minimum === 1 ? 'not empty' : `at least ${check.minimum} ${unit}`]
    case 'max_length':
      return [`at most ${check.maximum} ${unit}`]
    case 'string_format':
      return describeFormat(check)
    default:
      return []
  }
}

function describeFormat({ format, ...check }: Check & { readonly format: string }): readonly string[] {
  const { pattern, protocol } = check as { readonly pattern?: RegExp; readonly protocol?: RegExp }
  if (format === 'url') return [protocol?.source === '^https$' ? 'an https URL' : 'a URL']
  if (format === 'regex' && pattern) return [`matches \`${pattern.source}\``]
  return [formatNames[format] ?? []].flat()
}

const formatNames: Readonly<Record<string, string>> = {
  datetime: 'an ISO 8601 time in UTC',
  base64: 'base64',
  email: 'a mailbox',
}

/** Reads the schema's own message, without the words with which most messages begin. */
function readMessage({ error, path = [] }: Check): string | undefined {
  const message = error?.({} as never)
  if (typeof message !== 'string') return undefined
  const phrase = message.replace(/^must be /, '')
  return path.length > 0 ? `\`${path.join('.')}\` ${phrase}` : phrase
}

const units = ['bytes', 'KiB', 'MiB', 'GiB']

/** Formats a number. Large powers of two count as bytes. */
export function formatNumber(value: number): string {
  let [amount, unit] = [value, 0]
  for (; amount >= 1024 && amount % 1024 === 0; amount /= 1024) unit += 1
  return unit === 0 || !Number.isInteger(value) ? `${value}` : `${value} (${amount} ${units[unit]})`
}
