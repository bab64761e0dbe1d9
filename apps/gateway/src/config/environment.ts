// Overrides values of the configuration file with environment variables.
import { ConfigError } from '@postern/message'
import { z } from 'zod'
import type { ConfigTree } from '../tree/config-tree.ts'
import { setAt } from '../tree/config-tree.ts'
import { configSchema } from './schema.ts'
import { suggestName } from './suggest-name.ts'

interface JsonSchema {
  readonly type?: string
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

/** Lists the variables with their paths: `POSTERN_LISTEN_PORT` sets `listen.port`. Each plain value and each list of texts in the schema has a variable. */
export function listVariables(): ReadonlyMap<string, { readonly path: readonly string[]; readonly type: string }> {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
  const variables = new Map<string, { path: readonly string[]; type: string }>()
  const visit = (node: JsonSchema, path: readonly string[]): void => {
    const type = findVariableType(node)
    if (type) variables.set(`POSTERN_${path.join('_').toUpperCase()}`, { path, type })
    for (const [name, child] of Object.entries(node.properties ?? {})) visit(child, [...path, name])
  }
  visit(schema, [])
  return variables
}

function findVariableType({ type = '', items }: JsonSchema): string | undefined {
  if (type === 'array' && items?.type === 'string') return 'list'
  return ['string', 'number', 'integer', 'boolean'].includes(type) ? type : undefined
}

/** Overrides values of the file. A variable in `referencedVariables` need not be a key, because the file itself refers to it. @throws ConfigError */
export function applyEnvironment(
  fileTree: ConfigTree,
  environment: Readonly<Record<string, string | undefined>>,
  referencedVariables: ReadonlySet<string> = new Set(),
): ConfigTree {
  const gatewayVariables = Object.entries(environment).filter(
    ([name]) => name.startsWith('POSTERN_') && !nonSettingVariables.has(name),
  )
  if (gatewayVariables.length === 0) return fileTree
  const variables = listVariables()
  let tree: unknown = fileTree
  for (const [name, text] of gatewayVariables) {
    const variable = variables.get(name)
    if (!variable && referencedVariables.has(name)) continue
    if (!variable) {
      const suggestion = suggestName(name, variables.keys())
      const fix = suggestion === undefined ? 'Unset it, or correct its spelling.' : `Did you mean ${suggestion}?`
      throw new ConfigError(name, 'is not a known variable', fix)
    }
    tree = setAt(tree, variable.path, parseVariable(name, text ?? '', variable.type))
  }
  return tree as ConfigTree
}

/** The variables that set no value: the path of the file, and the address of a gateway for commands without a file. */
const nonSettingVariables = new Set(['POSTERN_CONFIG', 'POSTERN_URL'])

function parseVariable(name: string, text: string, type: string): unknown {
  if (type === 'string') return text
  if (type === 'list') return text.split(',').map(item => item.trim())
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (type !== 'boolean' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  throw new ConfigError(name, `"${text}" is not of type ${type}`, `Give a value of type ${type}.`)
}
