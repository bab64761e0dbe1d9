import type { HeaderBlock, HeaderField } from '../../mail/header-scan.ts'
import type { BodyOptions, ReadBody } from '../parsed-body.ts'
import { emptyBody, finishBody, isOfBody } from '../parsed-body.ts'
import { isBeyond, measureMime } from '../shape.ts'
import { readUnsignedStructure } from '../unsigned-structure.ts'
import { readSimpleMime } from './simple-mime.ts'

/**
 * The content of a message that consists of texts, without the parser and so at once: the same that `readMailBody`
 * gives. Undefined for any other message.
 */
export function readSimpleBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): ReadBody | undefined {
  const shape = measureMime(octets, header, options.limits)
  if (isBeyond(shape, options.limits)) return emptyBody('mime_limits')
  if (shape.unnamedCharsets.length > 0) return undefined
  const structure = options.isLoose ? readUnsignedStructure(octets, header, options.limits) : undefined
  const fields = structure ? structure.fields.map(readStructureField) : header.fields.filter(isOfBody)
  const mail = readSimpleMime(octets, { fields, bodyStart: header.bodyStart }, options.limits)
  return mail && finishBody({ ...mail, attachments: [] }, { header, structure, options })
}

function readStructureField(line: string): HeaderField {
  const colon = line.indexOf(':')
  return { name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim(), start: 0, end: 0 }
}
