import type { TxtAnswer } from '../../dkim/report.ts'
import type { HeaderBlock, HeaderField } from '../../mail/header-scan.ts'
import { digestContent } from '../../mail/trace-fields.ts'
import type { MimeJob, MimeResult } from '../job.ts'
import type { BodyOptions, ReadBody } from '../parsed-body.ts'
import { emptyBody, finishBody, isOfBody } from '../parsed-body.ts'
import { isBeyond, measureMime } from '../shape.ts'
import { readUnsignedStructure } from '../unsigned-structure.ts'
import type { ReadingDeps } from '../verified-job.ts'
import { hasLooseStructure, verifyJob } from '../verified-job.ts'
import { readSimpleMime } from './simple-mime.ts'

/**
 * Reads a message at once, on the thread that asks. Gives back the job, with what is known by then, where a thread must
 * read the message that may be killed. `header` is that of the job's octets.
 */
export type SimpleReader = (job: MimeJob, header?: HeaderBlock) => Promise<MimeResult | MimeJob>

/** Everything about a larger message may take long. */
const maxOctets = 64 * 1024

/** A simple message takes less time to read than to hand to a thread and back: it is small, and all of it is text. */
export function createSimpleReader(deps: ReadingDeps): SimpleReader {
  const isCostly = (answer: TxtAnswer) => {
    const record = 'records' in answer ? deps.readKey((answer.records[0] ?? []).join('')) : undefined
    return record !== undefined && 'key' in record && record.isCostly
  }
  return async (job, scanned) => {
    if (job.octets.length > maxOctets || job.isSealed || Object.values(job.keys).some(isCostly)) return job
    const { octets, header, signatures, limits } = verifyJob(job, deps, scanned)
    const isLoose = hasLooseStructure(job, { signatures })
    const body = await readSimpleBody(octets, header, { keepsQuotes: job.keepsQuotes, isLoose, limits })
    return body ? { signatures, body: { ...body, digest: digestContent(octets, header) } } : { ...job, signatures }
  }
}

/**
 * The content of a message that consists of texts, without the parser and so at once: the same that `readMailBody`
 * gives. Undefined for any other message.
 */
export async function readSimpleBody(
  octets: Buffer,
  header: HeaderBlock,
  options: BodyOptions,
): Promise<ReadBody | undefined> {
  const shape = measureMime(octets, header, options.limits)
  if (isBeyond(shape, options.limits)) return emptyBody('mime_limits')
  if (shape.unnamedCharsets.length > 0) return undefined
  const structure = options.isLoose ? readUnsignedStructure(octets, header, options.limits) : undefined
  const fields = structure ? structure.fields.map(readStructureField) : header.fields.filter(isOfBody)
  const mail = await readSimpleMime(octets, { fields, bodyStart: header.bodyStart }, options.limits)
  return mail && finishBody({ ...mail, attachments: [] }, { header, structure, options })
}

function readStructureField(line: string): HeaderField {
  const colon = line.indexOf(':')
  return { name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim(), start: 0, end: 0 }
}
