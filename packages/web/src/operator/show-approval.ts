import type { Interrupt } from '@ag-ui/core'
import type { ApprovalCall, OperatorApproval, Policy } from '@postern/core'
import { isoTime, readApproval, writeVisibleJson } from '@postern/core'
import { describeReach } from '../requirements/interrupts.ts'

const prefix = 'approval-'

/** The requirement that a message of an operator's chat shows; undefined for other messages. */
export function requirementOfMessage(id: string): string | undefined {
  return new RegExp(`^${prefix}([0-9a-f]{32})$`).exec(id)?.[1]
}

/** Messages of an approval: who asks for what, the call with all its arguments, and how it ended. */
export function showApproval({ requirement, call }: OperatorApproval, hasEnd: boolean): readonly object[] {
  const { id, agent, address, via, policy, status } = requirement
  const content = `${agent}, talking to ${address} (${via}): ${call?.summary ?? policy.message}`
  const toolCalls = call && [
    { id: call.id, type: 'function', function: { name: call.tool, arguments: writeVisibleJson(call.args) } },
  ]
  const message = { id: prefix + id, role: 'assistant', name: agent, content, ...(toolCalls && { toolCalls }) }
  if (!call || !hasEnd) return [message]
  // Calls of several conversations may share an id, because models count from one.
  return [
    message,
    { id: `${prefix}${id}-end`, role: 'tool', toolCallId: call.id, content: `It was decided: ${status}.` },
  ]
}

/** Names and counts alone, never arguments. */
export function summarizeWaiting(waiting: readonly OperatorApproval[]): object {
  return {
    waiting: waiting.map(({ requirement: { id, agent, expiresAt }, call }) => ({
      id,
      agent,
      ...(call && { tool: call.tool, arguments: namesOf(call) }),
      expires_at: isoTime(expiresAt),
    })),
  }
}

/** Everything that the operator decides on. */
export function writeInterrupt({ requirement, call }: OperatorApproval): Interrupt {
  const { id, agent, address, via, message, policy, expiresAt } = requirement
  return {
    id,
    reason: call ? 'tool_call' : 'confirmation',
    ...(call && { toolCallId: call.id }),
    message: call?.summary ?? policy.message,
    expiresAt: isoTime(expiresAt),
    responseSchema: describeAnswer(call, policy),
    metadata: {
      agent,
      address,
      via,
      message,
      ...(policy.title !== undefined && { title: policy.title }),
      ...(call && { tool: call.tool, arguments: call.args, ...(call.agent !== undefined && { member: call.agent }) }),
    },
  }
}

function describeAnswer(call: ApprovalCall | undefined, policy: Policy): NonNullable<Interrupt['responseSchema']> {
  const common = { approved: { type: 'boolean' }, ...describeReach(readApproval(policy)) }
  const properties = call?.schema ? { ...common, editedArgs: call.schema } : common
  return { type: 'object', properties, required: ['approved'] }
}

function namesOf({ args }: ApprovalCall): readonly string[] {
  return Object.keys(Object(args))
}
