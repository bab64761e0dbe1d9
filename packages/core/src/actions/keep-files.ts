import { hash } from 'node:crypto'
import type { Part } from '../message/part.ts'
import type { KeptFile } from '../ports/agent/kept-file.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import type { Turn } from '../ports/records/work.ts'

/** Of one message. */
const mostFiles = 4

/**
 * Keeps what a message points to with the message: where it lies, it may be gone tomorrow. A help, not a condition: what cannot be had stays an
 * address. Gives the parts as they are now.
 */
export async function keepFiles(turn: Turn, turnContext: TurnContext, signal: AbortSignal): Promise<readonly Part[]> {
  const { parts, sender } = turn.content
  const urls = parts.flatMap(part =>
    part.kind === 'file' && part.bytes_ref.kind === 'url' ? [part.bytes_ref.url] : [],
  )
  const { fetchFile, store } = turnContext
  if (!fetchFile || !sender.verified || urls.length === 0) return parts
  const fetched = await Promise.all(
    [...new Set(urls)].slice(0, mostFiles).map(url => fetchOne(url, turn, turnContext, signal)),
  )
  const files = fetched.flat()
  if (files.length > 0) await store.keepFiles(turn, files)
  return pointToKept(parts, files)
}

async function fetchOne(
  url: string,
  { correlationId }: Turn,
  { fetchFile, platform }: TurnContext,
  signal: AbortSignal,
): Promise<readonly KeptFile[]> {
  try {
    const file = await fetchFile?.(url, signal)
    return file ? [{ ...file, url, digest: hash('sha256', file.bytes) }] : []
  } catch (error) {
    signal.throwIfAborted()
    platform.log.info({ correlation_id: correlationId, err: error }, 'a file of a message cannot be had')
    return []
  }
}

/** By digest in the place of an address. */
export function pointToKept(parts: readonly Part[], files: readonly KeptFile[]): readonly Part[] {
  const byUrl = new Map(files.map(file => [file.url, file]))
  return parts.map((part): Part => {
    const file = part.kind === 'file' && part.bytes_ref.kind === 'url' ? byUrl.get(part.bytes_ref.url) : undefined
    if (!file || part.kind !== 'file') return part
    const { digest, mime, bytes } = file
    const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
    return { ...part, ...(mime !== undefined && { mime }), size: bytes.byteLength, bytes_ref }
  })
}
