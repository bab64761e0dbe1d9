import { parseJsonText, readApproval } from '@postern/core'
import { formatTable } from '../../terminal/table.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import { CommandError } from '../client.ts'
import type { Output } from '../context.ts'

interface ListedRequirement {
  readonly id: string
  readonly agent: string
  readonly via: string
  readonly message: number
  readonly kind: string
  readonly address: string
  readonly status: string
  readonly expires_at: string
  /** Whose word it waits for. */
  readonly approver: string
  readonly policy: Parameters<typeof readApproval>[0] & { readonly message: string }
}

interface ShownRequirement extends ListedRequirement {
  readonly call?: {
    readonly tool: string
    readonly agent?: string
    readonly summary: string
    readonly arguments: unknown
  }
}

interface RequirementFilter {
  readonly status?: string | undefined
  /** Only what operators decide. */
  readonly isMine: boolean
}

/** What agents wait for. */
export async function printRequirements(
  openClient: ClientOpener,
  output: Output,
  { status, isMine }: RequirementFilter,
): Promise<void> {
  const client = await openClient()
  try {
    const query = new URLSearchParams({ ...(status && { status }), ...(isMine && { approver: 'operator' }) })
    const listed = (await client.request(`/operator/api/requirements?${query}`)) as {
      requirements: readonly ListedRequirement[]
    }
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatRequirements(listed.requirements))
  } finally {
    await client.close()
  }
}

function formatRequirements(requirements: readonly ListedRequirement[]): string {
  return formatTable(
    ['id', 'agent', 'of', 'kind', 'decides', 'status', 'until', 'what', 'message'],
    requirements.map(({ id, agent, address, kind, approver, status, expires_at, policy, message }) => [
      id,
      agent,
      address,
      kind,
      approver,
      status,
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
export async function printRequirement(openClient: ClientOpener, output: Output, id: string): Promise<void> {
  const client = await openClient()
  try {
    const requirement = (await client.request(
      `/operator/api/requirements/${encodeURIComponent(id)}`,
    )) as ShownRequirement
    output.print(output.json ? JSON.stringify(requirement, null, 2) : formatRequirement(requirement))
  } finally {
    await client.close()
  }
}

function formatRequirement({
  id,
  agent,
  address,
  via,
  approver,
  status,
  expires_at,
  policy,
  call,
}: ShownRequirement): string {
  const lines = [
    `${id}: ${status}, until ${expires_at}`,
    `${agent}, talking to ${address} by ${via}; ${approver === 'operator' ? 'you decide' : 'the sender decides'}`,
    call?.summary ?? whatIsAsked(policy),
    ...(call ? [`tool ${call.tool}${call.agent ? `, wanted by ${call.agent}` : ''}, with:`] : []),
  ]
  const args = call ? JSON.stringify(call.arguments, null, 2).split('\n') : []
  return [...lines, ...args].map(toTerminalLine).join('\n')
}

interface SaidWord {
  readonly id: string
  readonly outcome: 'granted' | 'declined'
  /** JSON that the call is to run with instead. */
  readonly args?: string | undefined
  /** How far it counts for later calls of the tool. */
  readonly remember?: string | undefined
}

/** The operator's word on one of them. */
export async function decideListedRequirement(
  openClient: ClientOpener,
  output: Output,
  { id, outcome, args, remember }: SaidWord,
): Promise<void> {
  const changed = { ...(args !== undefined && { arguments: readArguments(args) }), ...(remember && { remember }) }
  const client = await openClient()
  try {
    const path = `/operator/api/requirements/${encodeURIComponent(id)}`
    const decided = await client.request(path, { method: 'POST', body: { outcome, ...changed } })
    output.print(output.json ? JSON.stringify(decided, null, 2) : `${toTerminalLine(id)}: ${outcome}`)
  } finally {
    await client.close()
  }
}

function readArguments(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    throw new CommandError('the arguments are not JSON: write them like \'{"order":"17"}\'')
  }
}
