// Reads the files of a test message.
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { detectMedia } from '@postern/http'
import { CommandError } from '../../client/client.ts'
import type { EncodedFile } from './operations.ts'
import { maxSentFileBytes } from './operations.ts'

/** The media types of texts and archives, which only the file extension distinguishes. */
const typesByExtension: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.ics': 'text/calendar',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.svg': 'image/svg+xml',
  '.xml': 'application/xml',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
}

/** Reads files by their paths. @throws CommandError if a file cannot be read, or the files are too large */
export async function readSentFiles(paths: readonly string[]): Promise<readonly EncodedFile[]> {
  const files = await Promise.all(paths.map(readSentFile))
  const bytes = files.reduce((sum, { data_base64 }) => sum + Buffer.byteLength(data_base64, 'base64'), 0)
  if (bytes > maxSentFileBytes)
    throw new CommandError(`cannot send: the files have ${bytes} bytes, more than ${maxSentFileBytes}`)
  return files
}

async function readSentFile(path: string): Promise<EncodedFile> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `cannot read the file "${path}": ${error.code === 'ENOENT' ? 'it does not exist' : error.message}`,
    )
  })
  const mime = typesByExtension[extname(path).toLowerCase()] ?? detectMedia(bytes)
  return { name: basename(path), mime, data_base64: bytes.toString('base64') }
}
