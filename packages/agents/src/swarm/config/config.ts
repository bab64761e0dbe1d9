// Declares the configuration of a swarm: members, policies, and shared states and storages.
import { parseDuration } from '@postern/message'
import { answerChecks, defaultAnswerChecks } from '@postern/swarm'
import type { RecordQuota } from '@postern/transcript'
import { z } from 'zod'
import { isAddress } from '../../a2a/kind.ts'
import { durationSchema } from '../../config/duration.ts'
import { toolPolicyShape } from '../../config/tool-policies.ts'
import { commonAgentSchema } from '../../kind/agent-kind.ts'
import { mcpShape } from '../../mcp/config.ts'
import { modulePathPattern } from '../../modules/import-module.ts'
import { modelShape } from '../../openai/config.ts'

const nameSchema = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 of a-z, 0-9, "_", "-"')

const descriptionShape = {
  /** Purpose of the member, by which the others decide to hand over to it. */
  description: z.string().max(1_000).optional(),
}

/** The model that writes the answers. */
const modelSchema = z.strictObject({
  ...modelShape,
  /** Shows pictures to the model. */
  images: z.boolean().default(false),
})

const modelMemberSchema = z.strictObject({
  ...descriptionShape,
  /** The prompt of the member's model, after the swarm's prompt. */
  prompt: z.string().max(200_000).default(''),
  /** The member's model; default: the swarm's own. */
  model: modelSchema.optional(),
  /** Path of a module whose exports its model may call. */
  tools: z.string().regex(modulePathPattern, 'must be a path such as "./tools.ts"').optional(),
  ...mcpShape,
  ...toolPolicyShape,
  /** Members it may hand over to. */
  navigates_to: z.array(nameSchema).default([]),
  /** Lets the member hand back to the one that had the conversation before. */
  navigates_back: z.boolean().default(false),
  /** Messages of the past that its model gets. */
  keep: z.int().min(0).max(1_000).default(15),
  /** Calls of one answer that run. */
  max_tool_calls: z.int().min(1).max(32).default(1),
  /** Treatment of an answer that nobody should see: `flush` begins anew, `recomplete` asks again. */
  rescue: z.enum(['flush', 'recomplete']).default('flush'),
})

const timeoutSchema = durationSchema.default('90s')

const operatorMemberSchema = z.strictObject({
  ...descriptionShape,
  /** A human answers. */
  operator: z.literal(true),
  /** Time for which the gateway waits for its answer. */
  timeout: timeoutSchema,
  /** A mailbox that gets the question, too. */
  mail: z.email().optional(),
})

const remoteMemberSchema = z.strictObject({
  ...descriptionShape,
  /** An agent elsewhere answers: `@name@domain`, or the URL of its A2A card. */
  address: z.string().refine(text => isAddress(text) || URL.canParse(text), 'must be "@name@domain" or a URL'),
  /** Time for which the gateway waits for its answer. */
  timeout: timeoutSchema,
})

const patternsSchema = z.array(z.string().refine(isPattern, 'must be a regular expression')).default([])

/** Patterns of text that must not be said. A banned person is refused in all their conversations. */
const policySchema = z.strictObject({
  /** The gateway refuses messages that match one of these. */
  refuse_input: patternsSchema,
  /** The gateway does not send answers that match one of these. */
  refuse_output: patternsSchema,
  /** Text that the sender reads instead. */
  message: z.string().min(1).max(2_000),
  /** Lets the gateway refuse the sender from then on, in all conversations. */
  bans: z.boolean().default(false),
})

const dataNameSchema = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/, 'must be 1 to 64 letters, digits, "_", "-"')

const retentionShape = {
  /** Shares the value or list among all conversations. */
  shared: z.boolean().default(false),
  /** Days for which a shared value or list stays when nobody writes it. */
  keep_days: z.number().positive().max(36_500).default(365),
}
const stateSchema = z.strictObject({
  /** Value of a state that nobody has set. */
  default: z.json().default({}),
  ...retentionShape,
  /** Removes a shared value together with the message whose turn set it. */
  forgets: z.boolean().default(false),
})
const storageSchema = z.strictObject({
  ...retentionShape,
  /** Removes a shared item together with the message whose turn wrote it. */
  forgets: z.boolean().default(true),
})

/** The data that tools of members store apart from the conversation, by name. */
const dataShape = {
  /** Values that tools of members keep, by name. */
  states: z.record(dataNameSchema, stateSchema).default({}),
  /** Lists that tools of members keep, by name. */
  storages: z.record(dataNameSchema, storageSchema).default({}),
  /** Path of a module whose exports compute values from states. */
  computes: z.string().regex(modulePathPattern, 'must be a path such as "./computes.ts"').optional(),
  /** Limits of all these data. */
  data_limits: z
    .strictObject({
      /** Bytes of one conversation, as JSON. */
      conversation_bytes: z
        .int()
        .min(1_024)
        .max(16 * 1024 * 1024)
        .default(256 * 1024),
      /** Values and items that all conversations share. */
      shared_records: z.int().min(1).max(1_000_000).default(10_000),
      /** Bytes of these, as JSON. */
      shared_bytes: z
        .int()
        .min(1_024)
        .max(1024 * 1024 * 1024)
        .default(16 * 1024 * 1024),
    })
    .prefault({}),
}

/** `{ "use": "swarm" }` */
export const swarmAgentSchema = commonAgentSchema
  .extend({
    deadline: durationSchema.default('2m'),
    /** The member that begins a conversation. */
    default_agent: nameSchema,
    /** Model of all members that name none. */
    model: modelSchema.optional(),
    /** Text before each member's own prompt. */
    prompt: z.string().max(200_000).default(''),
    /** The members by their names; each is a model, a human or an agent elsewhere. */
    members: z.record(nameSchema, z.union([modelMemberSchema, operatorMemberSchema, remoteMemberSchema])),
    /** Filters of messages and answers, by name. */
    policies: z.record(nameSchema, policySchema).default({}),
    /** Checks that an answer of a model must pass. */
    rescue_checks: z.array(z.enum(answerChecks)).default([...defaultAnswerChecks]),
    ...dataShape,
  })
  .superRefine((config, context) => {
    for (const { path, message } of findFaults(config)) context.addIssue({ code: 'custom', path: [...path], message })
  })

/** Reads the quota of the data that all conversations of a swarm share; undefined for other agents. */
export function readSharedQuota(config: unknown): RecordQuota | undefined {
  const { data } = swarmAgentSchema.safeParse(config)
  return data && { records: data.data_limits.shared_records, bytes: data.data_limits.shared_bytes }
}

export type SwarmAgentConfig = z.output<typeof swarmAgentSchema>
export type ModelMember = z.output<typeof modelMemberSchema>
export type OperatorMember = z.output<typeof operatorMemberSchema>
export type RemoteMember = z.output<typeof remoteMemberSchema>
type SwarmMember = SwarmAgentConfig['members'][string]
export type SwarmPolicyConfig = z.output<typeof policySchema>

type ConfigFault = { readonly path: readonly string[]; readonly message: string }

export function isModelMember(member: SwarmMember): member is ModelMember {
  return 'navigates_to' in member
}

function findFaults(
  config: Pick<SwarmAgentConfig, 'deadline' | 'default_agent' | 'model' | 'members'>,
): readonly ConfigFault[] {
  const names = Object.keys(config.members)
  const allowedNames = `one of: ${names.join(', ')}`
  const faults: ConfigFault[] = names.includes(config.default_agent)
    ? []
    : [{ path: ['default_agent'], message: `must be ${allowedNames}` }]
  for (const [member, settings] of Object.entries(config.members)) {
    const path = ['members', member]
    if (!isModelMember(settings)) {
      const isLate = parseDuration(settings.timeout) >= parseDuration(config.deadline)
      if (isLate) faults.push({ path: [...path, 'timeout'], message: 'must be shorter than the deadline of the agent' })
      continue
    }
    if (!settings.model && !config.model) faults.push({ path: [...path, 'model'], message: 'there is no model for it' })
    const invalidTarget = settings.navigates_to.find(to => to === member || !names.includes(to))
    if (invalidTarget !== undefined)
      faults.push({ path: [...path, 'navigates_to'], message: `"${invalidTarget}" is not ${allowedNames}` })
  }
  return faults
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}
