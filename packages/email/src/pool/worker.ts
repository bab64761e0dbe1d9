// Verifies and parses mail inside a worker thread.
import { parentPort, workerData } from 'node:worker_threads'
import { verifyChain } from '../arc/verify-chain.ts'
import type { MailLimits } from '../config/limits.ts'
import { parseKeyRecord } from '../dkim/key-record.ts'
import { createKeyReader } from '../dkim/verify.ts'
import { digestContent } from '../mail/content-digest.ts'
import type { MimeJob, MimeResult, ReadingDeps } from '../mime/job.ts'
import { toOwnBuffer } from '../mime/job.ts'
import { readMailBody } from '../mime/read-body.ts'
import { hasLooseStructure, verifyJob } from '../mime/verify-job.ts'

/** The reply of a thread about a job. */
export type MimeReply = { readonly result: MimeResult } | { readonly error: string }

/** The dependencies of every job of a thread. */
const deps: ReadingDeps = { limits: workerData as MailLimits, readKey: createKeyReader(parseKeyRecord) }

/**
 * The jobs run at a time and one message goes back for all. Most of them wait for the same turn of the event loop, so
 * this costs a fifth less.
 */
parentPort?.on('message', async (jobs: readonly MimeJob[]) => {
  const replies = await Promise.all(jobs.map(answerJob))
  parentPort?.postMessage(replies, listMemory(replies))
})

/** Lists the buffers that are transferred instead of copied: a large file must not delay the receiving thread. */
function listMemory(replies: readonly MimeReply[]): ArrayBuffer[] {
  const files = replies.flatMap(reply => ('result' in reply ? reply.result.body.files : []))
  return [...new Set(files.map(({ bytes }) => bytes.buffer as ArrayBuffer))]
}

async function answerJob(job: MimeJob): Promise<MimeReply> {
  try {
    return { result: await runJob(job) }
  } catch (error) {
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : 'unknown' }
  }
}

/** Computes the signatures, the text, the files and the digest of one message. */
async function runJob(job: MimeJob): Promise<MimeResult> {
  const { octets, header, signatures, limits } = verifyJob(job, deps)
  const chain = job.isSealed ? await verifyChain(octets, job) : undefined
  const isLoose = hasLooseStructure(job, { signatures, chain })
  const body = await readMailBody(octets, header, { keepsQuotes: job.keepsQuotes, isLoose, limits })
  const files = body.files.map(file => ({ ...file, bytes: toOwnBuffer(file.bytes) }))
  return { signatures, chain, body: { ...body, files, digest: digestContent(octets, header) } }
}
