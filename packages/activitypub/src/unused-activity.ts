// Describes to the operator an accepted activity that has nothing for an agent.
import type { AgentDirectory, UnusedIntake } from '@postern/pipeline'
import type { Activity } from './format/activity.ts'
import { isReadablePost } from './format/check-post.ts'
import type { JsonObject } from './format/json-object.ts'
import { asObject, idOf, textOf, typeOf } from './format/json-object.ts'
import { activityKinds } from './inbox/kinds/activity-kinds.ts'
import { listAudience } from './normalize.ts'

interface InboxContext {
  readonly agents: Pick<AgentDirectory, 'origin' | 'find'>
  /** The agent whose inbox received the activity. Absent for the shared inbox. */
  readonly agent?: string | undefined
}

/** The types that servers send to everybody they know, whether the activity concerns them or not. */
const broadcastTypes: ReadonlySet<string> = new Set(['Delete', 'Update', 'Add', 'Remove', 'View'])

/**
 * Returns the reason why an activity for an agent has no content for it, or undefined if it is for no agent. A `Delete` is never listed, because
 * each server sends one for each deleted account, and a list full of them would hide the rest. It is pure.
 */
export function describeUnused(activity: Activity, context: InboxContext): UnusedIntake | undefined {
  const { type, json } = activity
  const agentNames = listNamedAgents(json, context.agents)
  const missingAgent = agentNames.find(name => !context.agents.find(name))
  const agent = agentNames.find(name => context.agents.find(name)) ?? context.agent
  if (type === 'Delete' || (agentNames.length === 0 && (!agent || broadcastTypes.has(type)))) return undefined
  if (!agent && missingAgent !== undefined) {
    return {
      code: 'no_recipient',
      reason: `Cannot deliver activity: there is no agent "${missingAgent}"`,
      agent: missingAgent,
    }
  }
  return { code: 'unsupported', reason: `Cannot give activity to an agent: ${describeReason(activity)}`, agent }
}

function describeReason({ type, json }: Activity): string {
  if (!activityKinds.has(type)) return `its type is "${shortenType(type)}"`
  const object = asObject(json.object)
  const isPost = type === 'Create' || type === 'Update'
  if (isPost && object && !isReadablePost(object)) return describeType(object)
  if (type === 'Create' && !object) return 'its host does not show its object to this gateway'
  return `its ${type} is of nothing that this gateway has`
}

function describeType(object: JsonObject): string {
  const type = typeOf(object)
  return type ? `its object has the type "${shortenType(type)}"` : 'its object has no type'
}

/** Lists the agent names in the addresses that an activity is for or about, whether the agents exist here or not. */
function listNamedAgents(json: JsonObject, { origin }: Pick<AgentDirectory, 'origin'>): readonly string[] {
  const post = asObject(json.object) ?? {}
  const iris = [...listAudience(json, post), idOf(json.object), idOf(post.object), idOf(post.inReplyTo)]
  const prefix = `${origin}/agents/`
  const names = iris.flatMap(iri => (iri?.startsWith(prefix) ? (iri.slice(prefix.length).split(/[/?#]/)[0] ?? []) : []))
  return [...new Set(names)].filter(name => textOf(name) !== undefined)
}

function shortenType(text: string): string {
  return text.slice(0, 100)
}
