import type { Json } from '@postern/core'
import { channelNameSchema, policySchema, rememberScopes, requirementKinds, resolutionOutcomes } from '@postern/core'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, pageOf, pageParameters } from '../../api/page.ts'
import { requirementStates } from './states.ts'

const { agent, channel, sender, since, until, text } = listFilters
const approvers = ['operator', 'sender'] as const
const instant = z.string().describe('ISO 8601 UTC.')

const listedRequirementSchema = z
  .object({
    place: z.int().describe('Number of it.'),
    id: z.string(),
    agent: z.string(),
    via: channelNameSchema.describe('Channel.'),
    message: z.int().describe('Number of the message that caused it.'),
    kind: z.enum(requirementKinds),
    address: z.string().describe('Who has to fulfil it.'),
    approver: z.enum(approvers).describe('Whose word it waits for.'),
    policy: policySchema.describe('What the agent requires, in the words for the sender.'),
    state: z.enum(requirementStates),
    issued_at: instant,
    expires_at: instant,
    resolved_at: instant.optional(),
    resolver: z
      .object({ method: z.string(), subject: z.string().optional() })
      .optional()
      .describe('The decision, and who made it.'),
  })
  .meta({ id: 'Requirement' })

export type ListedRequirement = z.infer<typeof listedRequirementSchema>

const shownRequirementSchema = listedRequirementSchema
  .extend({
    call: z
      .object({
        tool_call_id: z.string(),
        tool: z.string(),
        agent: z.string().optional().describe('Which of several agents behind one address wants it.'),
        summary: z.string(),
        arguments: z.unknown(),
        schema: z.unknown().optional().describe('JSON Schema of the arguments.'),
      })
      .optional()
      .describe('The call of a tool that it is about.'),
  })
  .meta({ id: 'ShownRequirement' })

const decisionSchema = z.strictObject({
  outcome: z.enum(resolutionOutcomes),
  arguments: (z.json() as z.ZodType<Json>).optional().describe('What the call is to run with instead.'),
  remember: z
    .enum(['once', ...rememberScopes])
    .optional()
    .describe('How far it counts for later calls of the tool.'),
})

const id = z.object({ id: z.string() })

/** What agents wait for, and the operator's word on it. */
export const requirementOperations = {
  list: defineOperation({
    id: 'listRequirements',
    method: 'GET',
    path: '/requirements',
    summary: 'Lists what agents wait for, newest first.',
    task: 'list requirements',
    query: z.object({
      agent,
      channel,
      state: z.enum(requirementStates).optional().describe('Only in this state.'),
      approver: z.enum(approvers).optional().describe('Only what they decide.'),
      sender,
      since,
      until,
      text,
      ...pageParameters,
    }),
    answer: pageOf(listedRequirementSchema),
  }),
  find: defineOperation({
    id: 'findRequirement',
    method: 'GET',
    path: '/requirements/{id}',
    summary: 'Shows a requirement, with the arguments of the call it is about.',
    task: 'show requirement',
    parameters: id,
    answer: shownRequirementSchema,
    refusals: { no_recipient: 'There is no such requirement.' },
  }),
  decide: defineOperation({
    id: 'decideRequirement',
    method: 'POST',
    path: '/requirements/{id}',
    summary: 'Decides a requirement.',
    task: 'decide',
    parameters: id,
    // Arguments of a call may be deep.
    body: { schema: decisionSchema, maxDepth: 64 },
    answer: listedRequirementSchema,
    refusals: {
      no_recipient: 'There is no such requirement.',
      forbidden: 'It is decided already, has expired, or is decided elsewhere.',
    },
  }),
} as const
