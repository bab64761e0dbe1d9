// Reads the content of a message as parts and files.
import type { Message } from '@ag-ui/core'
import type { WebAttachments } from '../attachments/attachment-store.ts'
import type { PartContext, RunContent } from './file-parts.ts'
import { emptyContent, readFilePart } from './file-parts.ts'

/**
 * Reads the content of a user's message for the agent: the user's own files as bytes, and every other address as a link.
 * @throws Rejection too_large, unsupported (of bytes in the message)
 */
export async function readContentParts(
  content: Message['content'],
  context: PartContext,
  attachments: WebAttachments,
): Promise<RunContent> {
  if (typeof content === 'string') return toTextContent(content)
  const contents: RunContent[] = []
  // The parts are read one after the other, because all files at once may not fit in memory.
  for (const part of Array.isArray(content) ? content : []) {
    const isText = part.type === 'text'
    contents.push(isText ? toTextContent(part.text) : await readFilePart(part, context, attachments))
  }
  return joinContent(contents)
}

/** Joins the contents of several parts in their order. */
export function joinContent(contents: readonly RunContent[]): RunContent {
  return {
    parts: contents.flatMap(({ parts }) => parts),
    blobs: contents.flatMap(({ blobs }) => blobs),
    warnings: contents.flatMap(({ warnings }) => warnings),
    verbatimTexts: contents.flatMap(({ verbatimTexts = [] }) => verbatimTexts),
  }
}

/** Counts the files in messages, because reading a large number of them would fill the memory. */
export function countFiles(contents: readonly Message['content'][]): number {
  const parts = contents.flatMap(content => (Array.isArray(content) ? content : []))
  return parts.filter(part => part.type !== 'text').length
}

function toTextContent(content: string): RunContent {
  return content === ''
    ? emptyContent
    : { ...emptyContent, parts: [{ kind: 'text', mime: 'text/plain', content }], verbatimTexts: [content] }
}
