import type { ToolCallResultEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { Json, ToolCallPart } from '@postern/core'
import { readResultParts } from '@postern/core'
import { writeAguiParts } from '@postern/transcript'

/** The result of a call, whenever the call began. Files that the tool returned are parts of it. */
export function writeToolResult({
  id,
  result,
  error,
}: Pick<ToolCallPart, 'id' | 'result' | 'error'>): Omit<ToolCallResultEvent, 'timestamp'> {
  const said = typeof result === 'string' ? result : JSON.stringify(result as Json)
  const returned = readResultParts(result)
  const content = error?.message ?? (returned ? writeAguiParts(returned) : said)
  return {
    type: EventType.TOOL_CALL_RESULT,
    messageId: `${id}-result`,
    toolCallId: id,
    role: 'tool',
    content: content as ToolCallResultEvent['content'],
  }
}
