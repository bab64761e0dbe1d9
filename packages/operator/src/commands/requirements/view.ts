// Prints requirements of agents, and decides one.
import type { Json } from '@postern/message'
import { parseJsonText, readApproval } from '@postern/message'
import type { OperationAnswer } from '../../api/operation.ts'
import { CommandError } from '../../client/client.ts'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { PrintAnswer } from '../operation-view.ts'
import { createListView, createOperationView } from '../operation-view.ts'
import type { ListedRequirement } from './operations.ts'
import { requirementOperations } from './operations.ts'

type RequirementAnswer = OperationAnswer<typeof requirementOperations.find>

const endedTaskNote = [
  '',
  'Its task has ended, and an ended task takes no further answer: a caller who waits for it hears nothing.',
  'Tell them yourself, or ask them to write again.',
].join('\n')

export const requirementViews = {
  list: createListView(requirementOperations.list, formatRequirements, ({ mine, ...filter }) => ({
    ...filter,
    ...(mine === true && { approver: 'operator' }),
  })),
  show: createOperationView(requirementOperations.find, formatRequirement),
  grant: createDecisionView('granted'),
  /** Retries the failed turn of a decision. */
  rerun: createOperationView(
    requirementOperations.rerun,
    ({ id, message, has_ended_task }) =>
      `${toTerminalLine(id)}: its decision runs again as #${message}${has_ended_task ? endedTaskNote : ''}`,
  ),
  decline: createDecisionView('declined'),
}

function formatRequirements(requirements: readonly ListedRequirement[]): string {
  return formatTable(
    ['id', 'agent', 'of', 'kind', 'decides', 'state', 'until', 'what', 'message'],
    requirements.map(({ id, agent, address, kind, approver, state, expires_at, policy, message }) => [
      id,
      agent,
      address,
      kind,
      approver,
      state,
      expires_at.slice(0, 16),
      summarize(policy).slice(0, 60),
      `#${message}`,
    ]),
  )
}

function summarize(policy: ListedRequirement['policy']): string {
  return readApproval(policy)?.summary ?? policy.message
}

function formatRequirement({
  id,
  agent,
  address,
  via,
  approver,
  state,
  expires_at,
  policy,
  call,
}: RequirementAnswer): string {
  const lines = [
    `${id}: ${state}, until ${expires_at}`,
    `${agent}, talking to ${address} by ${via}; ${approver === 'operator' ? 'you decide' : 'the sender decides'}`,
    call?.summary ?? summarize(policy),
    ...(call ? [`tool ${call.tool}${call.agent ? `, wanted by ${call.agent}` : ''}, with:`] : []),
  ]
  const args = call ? JSON.stringify(call.arguments, null, 2).split('\n') : []
  return [...lines, ...args].map(toTerminalLine).join('\n')
}

/** Decides one requirement for the operator. */
function createDecisionView(outcome: 'granted' | 'declined'): PrintAnswer {
  return createOperationView(requirementOperations.decide, (_, { id }) => `${toTerminalLine(String(id))}: ${outcome}`, {
    read: ({ arguments: args, ...fields }) => ({
      ...{ ...fields, outcome },
      ...(typeof args === 'string' && { arguments: parseArguments(args) }),
    }),
  })
}

function parseArguments(text: string): Json {
  try {
    return parseJsonText(text) as Json
  } catch {
    throw new CommandError('the arguments are not JSON: write them like \'{"order":"17"}\'')
  }
}
