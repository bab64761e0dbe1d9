import { ConfigError, isJsonObject } from '@postern/core'
import { z } from 'zod'
import { configSchema } from './schema.ts'

type Tree = Readonly<Record<string, unknown>>

interface JsonSchema {
  readonly type?: string
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

/** `POSTERN_LISTEN_PORT` → `listen.port`: every plain value of the schema has one variable, and every list of texts. */
export function listVariables(): ReadonlyMap<string, { readonly path: readonly string[]; readonly type: string }> {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
  const variables = new Map<string, { path: readonly string[]; type: string }>()
  const visit = (node: JsonSchema, path: readonly string[]): void => {
    const type = variableTypeOf(node)
    if (type) variables.set(`POSTERN_${path.join('_').toUpperCase()}`, { path, type })
    for (const [name, child] of Object.entries(node.properties ?? {})) visit(child, [...path, name])
  }
  visit(schema, [])
  return variables
}

function variableTypeOf({ type = '', items }: JsonSchema): string | undefined {
  if (type === 'array' && items?.type === 'string') return 'list'
  return ['string', 'number', 'integer', 'boolean'].includes(type) ? type : undefined
}

/** Lays the `POSTERN_*` variables over what the file says. `named`: variables that the file itself leaves values to. @throws ConfigError */
export function overlayEnvironment(
  file: Tree,
  environment: Readonly<Record<string, string | undefined>>,
  named: ReadonlySet<string> = new Set(),
): Tree {
  const relevant = Object.entries(environment).filter(
    ([name]) => name.startsWith('POSTERN_') && !outsideConfig.has(name),
  )
  if (relevant.length === 0) return file
  const variables = listVariables()
  let tree: unknown = file
  for (const [name, text] of relevant) {
    const variable = variables.get(name)
    if (!variable && named.has(name)) continue
    if (!variable) throw new ConfigError(name, 'is not a known variable', 'Unset it, or correct its spelling.')
    tree = writeAt(tree, variable.path, readValue(name, text ?? '', variable.type))
  }
  return tree as Tree
}

/** Read elsewhere: where the file is, and where a gateway is that commands ask without a file. */
const outsideConfig = new Set(['POSTERN_CONFIG', 'POSTERN_URL'])

function readValue(name: string, text: string, type: string): unknown {
  if (type === 'string') return text
  if (type === 'list') return text.split(',').map(each => each.trim())
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (type !== 'boolean' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  throw new ConfigError(name, `"${text}" is not of type ${type}`, `Give a value of type ${type}.`)
}

/** What stands at a path of a configuration. */
export function readAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as Tree | undefined)?.[key], tree)
}

/** The same tree with `value` at a path. A single value on the way makes room; a list stays, for the schema to refuse. */
export function writeAt(tree: unknown, [head = '', ...rest]: readonly string[], value: unknown): unknown {
  if (Array.isArray(tree)) return tree
  const members = isJsonObject(tree) ? tree : {}
  return { ...members, [head]: rest.length === 0 ? value : writeAt(members[head], rest, value) }
}
