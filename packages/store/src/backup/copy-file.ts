// Copies a file durably, and computes its size and digest.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

interface FileContent {
  readonly bytes: number
  readonly sha256: string
}

/**
 * Computes the size and digest of a file, and copies it to `target` if there is one. The copy is durable, and only its owner may read it.
 * @throws Error with the system's code
 */
export async function copyFile(source: string, target?: string): Promise<FileContent> {
  const hash = createHash('sha256')
  const targetFile = target === undefined ? undefined : await openTarget(target)
  let bytes = 0
  try {
    for await (const chunk of createReadStream(source, { highWaterMark: 1024 * 1024 })) {
      hash.update(chunk)
      bytes += chunk.byteLength
      await targetFile?.writeFile(chunk)
    }
    await targetFile?.sync()
  } finally {
    await targetFile?.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}

async function openTarget(path: string) {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return open(path, 'w', 0o600)
}
