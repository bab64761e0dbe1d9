// Lists the keys that the configuration may have at a path, to suggest the right one for a misspelled key.
import { agentKinds } from '@postern/agents'
import { isJsonObject } from '@postern/message'
import { z } from 'zod'
import { readAt } from '../tree/config-tree.ts'
import { configSchema } from './schema.ts'

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, SchemaNode>>
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
}

/** Returns the keys that the configuration may have at `path`; for an agent, the keys of the kind of agent that `tree` names. */
export function listKnownKeys(path: readonly PropertyKey[], tree: unknown): readonly string[] {
  const [topLevelKey, name, ...agentPath] = path.map(String)
  const agent = topLevelKey === 'agents' && name !== undefined ? readAt(tree, ['agents', name]) : undefined
  const use = isJsonObject(agent) ? agent.use : undefined
  const kind = typeof use === 'string' ? agentKinds.find(({ usePattern }) => usePattern.test(use)) : undefined
  const schema = kind?.schema ?? configSchema
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode
  let nodes = expandAlternatives([root], root)
  for (const step of kind ? agentPath : path.map(String)) {
    const innerNodes = nodes.flatMap(({ properties, additionalProperties, items }) => [
      properties?.[step] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined),
      items,
    ])
    nodes = expandAlternatives(
      innerNodes.filter(node => node !== undefined),
      root,
    )
  }
  return nodes.flatMap(({ properties = {} }) => Object.keys(properties))
}

/** Resolves references and alternatives. The recursion ends, because a schema refers to itself only below a key. */
function expandAlternatives(nodes: readonly SchemaNode[], root: SchemaNode): readonly SchemaNode[] {
  return nodes.flatMap(node => {
    const referencedNode = node.$ref === undefined ? undefined : root.$defs?.[node.$ref.split('/').at(-1) ?? '']
    const alternatives = [referencedNode, ...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])]
    return [
      node,
      ...expandAlternatives(
        alternatives.filter(alternative => alternative !== undefined),
        root,
      ),
    ]
  })
}
