import type { AgentChunk, AgentContext, NormalizedMessage, Part, ToolCallPart } from '@postern/core'
import { describeApproval, plainTextOf } from '@postern/core'

const call = (name: string): ToolCallPart => ({ kind: 'tool_call', id: `${name}-1`, name, args: {} })

/** A refund that is shown and waits to be allowed, as tools with a policy do. */
function askToRefund({ requireConsent }: AgentContext, approver: object): AgentChunk {
  const action = {
    action_id: 'refund-action',
    kind: 'refund',
    summary: 'Refund?',
    preview: {},
    arguments: [],
    tool_call_id: 'refund-1',
  }
  return requireConsent({ message: 'Refund?', ...describeApproval(action), ...approver })
}

/** Calls tools in every way there is, by the first word; and says which results of calls it was given. */
export async function* handle(message: NormalizedMessage, context: AgentContext): AsyncGenerator<AgentChunk> {
  const words = plainTextOf(message.parts)
  if (words.startsWith('pick')) yield call('pick')
  else if (words.startsWith('search')) yield { ...call('search'), result: 'found' }
  else if (words.startsWith('refund')) {
    const byOperator = words.includes('operator')
    if (byOperator) yield { trace: [call('refund')] }
    else yield call('refund')
    yield askToRefund(context, byOperator ? { approver: 'operator' } : {})
  } else if (words.startsWith('count')) {
    yield { trace: [call('count')] }
    yield 'counted'
  } else if (words.startsWith('fail')) {
    yield 'I look '
    yield call('search')
    throw new Error('broken')
  } else yield `heard: ${message.parts.flatMap(nameResult).join(', ')}`
}

function nameResult(part: Part): readonly string[] {
  return part.kind === 'tool_call' ? [`${part.name} ${String(part.result)}`] : []
}
