import type { TxtAnswer } from '../../dkim/report.ts'
import { digestContent } from '../../mail/trace-fields.ts'
import type { MimeJob, MimeResult } from '../job.ts'
import type { ReadingDeps } from '../judged-mail.ts'
import { hasLooseStructure, judgeMail } from '../judged-mail.ts'
import { readSimpleBody } from './simple-body.ts'

/**
 * Reads a message at once, on the thread that asks. Gives back the job, with what is known by then, where a thread must
 * read the message that may be killed.
 */
export type SimpleReader = (job: MimeJob) => MimeResult | MimeJob

/** Everything about a larger message may take long. */
const maxOctets = 64 * 1024

/** A simple message takes less time to read than to hand to a thread and back: it is small, and all of it is text. */
export function createSimpleReader(deps: ReadingDeps): SimpleReader {
  const isCostly = (answer: TxtAnswer) => {
    const record = 'records' in answer ? deps.readKey((answer.records[0] ?? []).join('')) : undefined
    return record !== undefined && 'key' in record && record.isCostly
  }
  return job => {
    if (job.octets.length > maxOctets || job.isSealed || Object.values(job.keys).some(isCostly)) return job
    const { octets, header, signatures, limits } = judgeMail(job, deps)
    const isLoose = hasLooseStructure(job, { signatures })
    const body = readSimpleBody(octets, header, { keepsQuotes: job.keepsQuotes, isLoose, limits })
    return body ? { signatures, body: { ...body, digest: digestContent(octets, header) } } : { ...job, signatures }
  }
}
