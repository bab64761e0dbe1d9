// Declares the operations that list and decide requirements of agents.
import type { Json } from '@postern/message'
import { channelNameSchema, policySchema, rememberScopes, requirementKinds, resolutionOutcomes } from '@postern/message'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { instantSchema, listFilters, pageOf, pageParameters, unknownNameRefusal } from '../../api/page.ts'
import { requirementStates } from './requirement-states.ts'

const { agent, channel, sender, since, until, text } = listFilters
const approvers = ['operator', 'sender'] as const
const listedRequirementSchema = z
  .object({
    number: z.int().describe('Number of the requirement.'),
    id: z.string(),
    agent: z.string(),
    via: channelNameSchema.describe('Channel.'),
    message: z.int().describe('Number of the message that caused it.'),
    kind: z.enum(requirementKinds),
    address: z.string().describe('Address of the person who must fulfil it.'),
    approver: z.enum(approvers).describe('Who decides it.'),
    policy: policySchema.describe('The requirement in the words that the sender reads.'),
    state: z.enum(requirementStates),
    issued_at: instantSchema,
    expires_at: instantSchema,
    resolved_at: instantSchema.optional(),
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
        agent: z.string().optional().describe('The member of the agent that makes the call.'),
        summary: z.string(),
        arguments: z.unknown(),
        schema: z.unknown().optional().describe('JSON Schema of the arguments.'),
      })
      .optional()
      .describe('The call of a tool that needs the decision.'),
  })
  .meta({ id: 'ShownRequirement' })

const decisionSchema = z.strictObject({
  outcome: z.enum(resolutionOutcomes),
  arguments: (z.json() as z.ZodType<Json>).optional().describe('Arguments for the call instead of its own.'),
  remember: z
    .enum(['once', ...rememberScopes])
    .optional()
    .describe('The later calls of the tool that the decision counts for.'),
})

const id = z.object({ id: z.string() })

export const requirementOperations = {
  list: defineOperation({
    id: 'listRequirements',
    method: 'GET',
    path: '/requirements',
    summary: 'Lists the requirements of agents, newest first.',
    task: 'list requirements',
    query: z.object({
      agent,
      channel,
      state: z.enum(requirementStates).optional().describe('Only in this state.'),
      approver: z.enum(approvers).optional().describe('Only requirements that they decide.'),
      sender,
      since,
      until,
      text,
      ...pageParameters,
    }),
    answer: pageOf(listedRequirementSchema),
    refusals: unknownNameRefusal,
  }),
  find: defineOperation({
    id: 'findRequirement',
    method: 'GET',
    path: '/requirements/{id}',
    summary: 'Shows a requirement, with the arguments of its call.',
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
      forbidden: 'The requirement is decided or expired, or the operator does not decide it.',
    },
  }),
  rerun: defineOperation({
    id: 'rerunRequirement',
    method: 'POST',
    path: '/requirements/{id}/rerun',
    summary: 'Runs the failed turn of a decision again; a tool that has run before does not run again.',
    task: 'run again',
    parameters: id,
    answer: z.object({
      id: z.string(),
      message: z.int().describe('Number of the message that repeats the decision.'),
      has_ended_task: z
        .boolean()
        .describe('True if the task has ended, so its caller hears nothing of the new answer; false for a chat.'),
    }),
    refusals: {
      no_recipient: 'There is no such requirement.',
      forbidden: 'The requirement is undecided, or the turn of its decision still runs or has not failed.',
    },
  }),
} as const
