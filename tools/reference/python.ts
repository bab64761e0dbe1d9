import { replySchema } from '../../packages/agents/src/webhook/reply.ts'
import { identityEvidenceSchema } from '../../packages/core/src/message/address/identity.ts'
import { agentActionSchema } from '../../packages/core/src/message/agent-action.ts'
import { normalizedMessageSchema } from '../../packages/core/src/message/message.ts'
import { knownPartSchema, partSchema, policySchema, traceSchema } from '../../packages/core/src/message/part.ts'
import { policyResolutionSchema } from '../../packages/core/src/message/policy.ts'
import { tokenUsageSchema } from '../../packages/core/src/message/token-usage.ts'
import type { Schema } from './schema/bounds.ts'
import type { KeyComments } from './schema/key-comments.ts'
import type { PythonRoot } from './schema/python-types.ts'
import { formatPythonTypes } from './schema/python-types.ts'

const folder = 'packages/core/src/message'
const { sender, recipient_capabilities, history, merged } = normalizedMessageSchema.shape
const historySchema = history.unwrap().element

/** What types are called that have no section of their own; a type without a name here is called by where it stands. */
const names: ReadonlyMap<Schema, string> = new Map<Schema, string>([
  [partSchema, 'Part'],
  [traceSchema.element, 'ToolCallPart'],
  [knownPartSchema.options[1].shape.bytes_ref, 'BytesRef'],
  [identityEvidenceSchema.shape.proof, 'IdentityProof'],
  [sender, 'Sender'],
  [recipient_capabilities, 'RecipientCapabilities'],
  [recipient_capabilities.shape.mention_relay, 'MentionRelay'],
  [recipient_capabilities.shape.agent_chain.unwrap(), 'AgentChain'],
  [historySchema.shape.sender, 'HistoricalSender'],
  [merged.unwrap().element, 'MergedMessage'],
])

const at = (file: string, name: string) => ({ file: `${folder}/${file}`, name })

const partSentences = {
  text: 'Text.',
  file: 'A file.',
  link: 'A link.',
  artifact: 'A result that is a thing of its own.',
  tool_call: 'A call of a tool; it comes twice under one id, when it begins and when it ends.',
  policy: 'A requirement or a refusal.',
} as const

function describePart(schema: (typeof knownPartSchema.options)[number]): PythonRoot {
  const kind = schema.shape.kind.value
  const word = kind === 'tool_call' ? 'toolCall' : kind
  const name = `${word.charAt(0).toUpperCase()}${word.slice(1)}Part`
  return { name, sentence: partSentences[kind], schema, source: at('part.ts', `${word}PartSchema`) }
}

const actionSentences = {
  Post: 'A post to all who follow the agent.',
  Edit: 'Other words for something the agent said.',
  Delete: 'Takes back something the agent said.',
  Reaction: 'A reaction to a message.',
} as const

function describeAction(word: keyof typeof actionSentences, index: number): PythonRoot {
  const schema = agentActionSchema.options[index]
  if (!schema) throw new Error(`Cannot describe the action ${word}: there is no schema`)
  return { name: word, sentence: actionSentences[word], schema, source: at('agent-action.ts', `agent${word}Schema`) }
}

const roots: readonly PythonRoot[] = [
  {
    name: 'Policy',
    sentence: 'What is required before the agent goes on, or why it refuses.',
    schema: policySchema,
    source: at('part.ts', 'policySchema'),
  },
  ...knownPartSchema.options.map(schema => describePart(schema)),
  {
    name: 'Part',
    sentence: 'Something that is said. Parts of other kinds may come, too; they are kept as they are.',
    schema: knownPartSchema,
    source: at('part.ts', 'knownPartSchema'),
  },
  {
    name: 'IdentityEvidence',
    sentence: 'A statement of a trusted party about the sender.',
    schema: identityEvidenceSchema,
    source: at('address/identity.ts', 'identityEvidenceSchema'),
  },
  {
    name: 'PolicyResolution',
    sentence: 'How a requirement was decided.',
    schema: policyResolutionSchema,
    source: at('policy.ts', 'policyResolutionSchema'),
  },
  {
    name: 'HistoricalMessage',
    sentence: 'A turn spoken earlier in the thread.',
    schema: historySchema,
    source: at('message.ts', 'historicalMessageSchema'),
  },
  {
    name: 'NormalizedMessage',
    sentence: 'The one message that every channel makes and every agent reads.',
    schema: normalizedMessageSchema,
    source: at('message.ts', 'normalizedMessageSchema'),
  },
  ...(['Post', 'Edit', 'Delete', 'Reaction'] as const).map((word, index) => describeAction(word, index)),
  {
    name: 'Action',
    sentence: 'What the agent does besides answering.',
    schema: agentActionSchema,
    source: at('agent-action.ts', 'agentActionSchema'),
  },
  {
    name: 'TokenUsage',
    sentence: 'What one model was given and said, in tokens.',
    schema: tokenUsageSchema,
    source: at('token-usage.ts', 'tokenUsageSchema'),
  },
  {
    name: 'Reply',
    sentence: 'What a webhook may answer: `text` or `parts`, and what else it decides.',
    schema: replySchema,
    source: { file: 'packages/agents/src/webhook/reply.ts', name: 'replySchema' },
  },
]

const head = `"""What an agent reads and what it answers.

Written by \`npm run reference -- --write\` from the schemas of the gateway; a test compares. Change the schemas, not this file.
"""

from typing import Any, Literal, NotRequired, TypedDict


`

/** clients/python/postern_agent/types.py */
export function describePythonTypes(comments: Pick<KeyComments, 'find'>): string {
  return `${head}${formatPythonTypes(roots, names, comments)}\n`
}
