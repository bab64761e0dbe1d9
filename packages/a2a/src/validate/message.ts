import { anyText, bytes, fileUrl, identifier, line, media, object, oneOf } from './leaves.ts'
import type { ValueCheck } from './shape.ts'
import { arrayOf, optional, required, shapeOf, violate } from './shape.ts'

/** The four contents of a part (A2A §4.1.6); exactly one is present. */
const contents = { text: anyText, raw: bytes, url: fileUrl } as const

/** `data` is any JSON value, also `null`, so its presence counts. */
const oneContent: ValueCheck = part => {
  const members = part as Readonly<Record<string, unknown>>
  const present = ['text', 'raw', 'url'].filter(name => members[name] !== undefined && members[name] !== null)
  const count = present.length + (Object.hasOwn(members, 'data') ? 1 : 0)
  return count === 1 ? undefined : violate('must hold exactly one of text, raw, url, data')
}

/** One part (A2A §4.1.6). */
export const part = shapeOf(
  {
    text: optional(contents.text),
    raw: optional(contents.raw),
    url: optional(contents.url),
    metadata: optional(object),
    filename: optional(line(1024)),
    mediaType: optional(media),
  },
  oneContent,
)

/** A client's message. Only the gateway may use the role of the agent. */
export const userMessage = shapeOf({
  messageId: required(identifier(256)),
  role: required(oneOf(['ROLE_USER'])),
  parts: required(arrayOf(part, { min: 1, max: 1000 })),
  contextId: optional(line(256)),
  taskId: optional(anyText),
  metadata: optional(object),
  extensions: optional(arrayOf(identifier(2048), { max: 100 })),
  referenceTaskIds: optional(arrayOf(identifier(256), { max: 100 })),
})
