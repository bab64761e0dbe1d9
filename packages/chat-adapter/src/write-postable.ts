import type { Part } from '@postern/core'
import type { AdapterPostableMessage, FileUpload } from 'chat'
import { BaseFormatConverter, parseMarkdown, stringifyMarkdown } from 'chat'

/** The gateway takes Markdown and writes it for each channel, so both ways are the SDK's own. */
class PosternFormat extends BaseFormatConverter {
  fromAst = stringifyMarkdown
  toAst = parseMarkdown
}

export const posternFormat = new PosternFormat()

/** What the bot posts as parts of an answer: its text, a card as the text that stands for it, and its files. */
export async function writePostable(message: AdapterPostableMessage): Promise<readonly Part[]> {
  const content = renderText(message)
  const files = typeof message === 'object' && 'files' in message ? (message.files ?? []) : []
  const text: readonly Part[] = content === '' ? [] : [{ kind: 'text', mime: 'text/markdown', content }]
  return [...text, ...(await Promise.all(files.map(writeFile)))]
}

/** What is Markdown already stays as it is: to read and write it anew would make links of addresses. */
function renderText(message: AdapterPostableMessage): string {
  if (typeof message === 'string') return message
  if ('raw' in message) return message.raw
  return 'markdown' in message ? message.markdown : posternFormat.renderPostable(message)
}

async function writeFile({ data, filename, mimeType = 'application/octet-stream' }: FileUpload): Promise<Part> {
  const bytes = data instanceof Blob ? await data.arrayBuffer() : data
  const data_base64 = Buffer.from(bytes as ArrayBuffer).toString('base64')
  return { kind: 'file', mime: mimeType, name: filename, bytes_ref: { kind: 'inline', data_base64 } }
}
