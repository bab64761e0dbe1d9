import type { Json } from '@postern/core'
import { withoutTurning, writeVisibleJson } from '@postern/core'
import { toToolResult } from '../tools/result.ts'
import type { Tool, ToolContext } from '../tools/tools.ts'

/** Characters of arguments that are shown in full. */
const maxShown = 1_500

/** The question for whoever decides: the tool's own text, or its name and all arguments. */
export function describeCall(
  name: string,
  args: unknown,
  preview: unknown,
): { readonly summary: string; readonly shownArgs: Json } {
  const shownArgs = (preview === undefined ? (args ?? null) : preview) as Json
  if (typeof preview === 'string' && preview.trim() !== '') {
    return { summary: clipShown(withoutTurning(preview)), shownArgs }
  }
  return { summary: `May I run "${name}" with ${clipShown(writeVisibleJson(shownArgs))}?`, shownArgs }
}

/** Says that more arguments follow. */
function clipShown(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()} … (not shown whole)` : text
}

/** The tool's description of a call; undefined when it has none or fails. */
export async function readPreview(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
  try {
    const preview = await tool.preview?.(args, context)
    return preview === undefined ? undefined : toToolResult(preview)
  } catch (error) {
    context.log.warn({ tool: tool.name, err: error }, 'a tool could not say what it would do')
    return undefined
  }
}
