import type { LinkPart, Part } from '@postern/core'

/** Where stored bytes are read, by their digest. */
export type FileAddress = ((digest: string) => string) | undefined

/** What a text cannot show, as markdown: an assistant's content is one string. */
export function writeBlock(part: Part, fileAddress: FileAddress): string {
  if (part.kind === 'text') return part.content
  if (part.kind === 'link') return writeLink(part)
  if (part.kind === 'policy') return part.policy.message
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  const { bytes_ref, name = 'file' } = part
  const url = bytes_ref.kind === 'content_addressed' ? fileAddress?.(bytes_ref.digest) : undefined
  const address = url ?? (bytes_ref.kind === 'url' ? bytes_ref.url : undefined)
  return address === undefined ? name : `[${name}](${address})`
}

/** Only what leads to a page or a mailbox can be followed: in a browser other addresses may run something. */
function writeLink({ url, title = url }: LinkPart): string {
  const { protocol = '' } = URL.parse(url) ?? {}
  if (!/^(https?|mailto):$/.test(protocol)) return title
  return `[${title.replace(/[[\]]/g, '\\$&')}](${new URL(url).href.replace(/[()]/g, mark => (mark === '(' ? '%28' : '%29'))})`
}
