import type { Json } from '@postern/core'
import { parseJsonText, readApproval } from '@postern/core'
import type { OperationInput } from '../../api/call.ts'
import type { OperationAnswer } from '../../api/operation.ts'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import { CommandError } from '../client.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer, printList } from '../print-list.ts'
import type { ListedRequirement } from './operations.ts'
import { requirementOperations } from './operations.ts'

type ShownRequirement = OperationAnswer<typeof requirementOperations.find>

type RequirementFilter = NonNullable<OperationInput<typeof requirementOperations.list>['query']>

/** What agents wait for. */
export function printRequirements(output: ApiOutput, query: RequirementFilter): Promise<void> {
  return printList(output, {
    readPage: (client, page) => client.call(requirementOperations.list, { query: { ...query, ...page } }),
    format: formatRequirements,
  })
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
      whatIsAsked(policy).slice(0, 60),
      `#${message}`,
    ]),
  )
}

function whatIsAsked(policy: ListedRequirement['policy']): string {
  return readApproval(policy)?.summary ?? policy.message
}

/** One of them, with all that the call it is about would run with. */
export function printRequirement(output: ApiOutput, id: string): Promise<void> {
  return printAnswer(output, requirementOperations.find, { parameters: { id } }, formatRequirement)
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
}: ShownRequirement): string {
  const lines = [
    `${id}: ${state}, until ${expires_at}`,
    `${agent}, talking to ${address} by ${via}; ${approver === 'operator' ? 'you decide' : 'the sender decides'}`,
    call?.summary ?? whatIsAsked(policy),
    ...(call ? [`tool ${call.tool}${call.agent ? `, wanted by ${call.agent}` : ''}, with:`] : []),
  ]
  const args = call ? JSON.stringify(call.arguments, null, 2).split('\n') : []
  return [...lines, ...args].map(toTerminalLine).join('\n')
}

type DecisionBody = OperationInput<typeof requirementOperations.decide>['body']

interface SaidWord {
  readonly id: string
  readonly outcome: DecisionBody['outcome']
  /** JSON that the call is to run with instead. */
  readonly args?: string | undefined
  /** How far it counts for later calls of the tool. */
  readonly remember?: DecisionBody['remember']
}

/** The operator's word on one of them. */
export async function decideListedRequirement(
  output: ApiOutput,
  { id, outcome, args, remember }: SaidWord,
): Promise<void> {
  const changed = { ...(args !== undefined && { arguments: readArguments(args) }), ...(remember && { remember }) }
  const input = { parameters: { id }, body: { outcome, ...changed } }
  await printAnswer(output, requirementOperations.decide, input, () => `${toTerminalLine(id)}: ${outcome}`)
}

function readArguments(text: string): Json {
  try {
    return parseJsonText(text) as Json
  } catch {
    throw new CommandError('the arguments are not JSON: write them like \'{"order":"17"}\'')
  }
}
