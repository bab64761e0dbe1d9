import { simpleParser } from 'mailparser'
import type { HeaderBlock } from '../mail/octets.ts'
import { scanHeaders } from '../mail/octets.ts'
import { CharsetStream, charsetOfMeta } from '../text/charsets.ts'
import type { BodyOptions, ReadBody } from './job.ts'
import { emptyBody, finishBody, isOfBody } from './read-mail.ts'
import { isBeyond, measureMime } from './shape.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'
import { readUnsignedStructure } from './unsigned-structure.ts'

/**
 * The content of a message: its newest text and its files. A message too complex or too broken to read is not lost: it
 * comes back without content and with a flag.
 */
export async function readMailBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): Promise<ReadBody> {
  const shape = measureMime(octets, header, options.limits)
  if (isBeyond(shape, options.limits)) return emptyBody('mime_limits')
  if (shape.unnamedCharsets.length === 0) return parseBody(octets, header, options)
  const named = nameCharsets(octets, shape.unnamedCharsets)
  return parseBody(named, scanHeaders(named, options.limits), options)
}

/** The parser would read HTML as UTF-8 when only the HTML itself names its charset. */
function nameCharsets(octets: Buffer, offsets: readonly number[]): Buffer {
  const ends = [...offsets, octets.length]
  const pieces = ends.map((end, index) => octets.subarray(offsets[index - 1] ?? 0, end))
  return Buffer.concat(pieces.flatMap((piece, index) => (index === 0 ? [piece] : [charsetParameter, piece])))
}

const charsetParameter = Buffer.from(`; charset=${charsetOfMeta}`)

async function parseBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): Promise<ReadBody> {
  const structure = options.isLoose ? readUnsignedStructure(octets, header, options.limits) : undefined
  try {
    const mail = await simpleParser(withBareHeader(octets, header, structure), {
      skipHtmlToText: true,
      skipTextToHtml: true,
      keepCidLinks: true,
      checksumAlgo: false,
      ignoreEmbedded: true,
      Iconv: CharsetStream,
    })
    return finishBody(mail, header, structure, options)
  } catch {
    return emptyBody('unparsable')
  }
}

/** Larger parts are not copied: that costs more than reading the fields. */
const bareLimit = 64 * 1024

/** The author and subject are read already; the parser only needs the structure of the body. */
function withBareHeader(octets: Buffer, { fields, bodyStart }: HeaderBlock, structure?: UnsignedStructure): Buffer {
  if (structure) {
    const lines = structure.fields.map(field => `${field}\r\n`).join('')
    return Buffer.concat([Buffer.from(lines, 'latin1'), lineEnd, octets.subarray(bodyStart)])
  }
  if (octets.length > bareLimit) return octets
  const lines = fields.filter(isOfBody).map(({ start, end }) => octets.subarray(start, end))
  return Buffer.concat([...lines, lineEnd, octets.subarray(bodyStart)])
}

const lineEnd = Buffer.from('\r\n')
