import { randomUUID } from 'node:crypto'
import { failure, ok } from '../../checks/finding.ts'
import { createPlatform } from '../../platform/platform.ts'
import type { CheckOutcome } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'

const bytes = Buffer.from('postern doctor')
const fix = 'Correct the storage in the configuration: endpoint, bucket, keys, and the right to put, get and delete.'

/** Puts a small object into the store of files, reads it, and removes it. */
export async function checkByteStore(deps: DoctorDeps): Promise<CheckOutcome> {
  const { slices } = requireOpened(deps)
  const { log } = silent
  const platform = createPlatform(deps.config, { log, slices: [] })
  try {
    const [store] = slices.flatMap(({ module, config }) => module.openBytes?.(config, platform) ?? [])
    if (!store) return skip('files', 'files are kept in the database')
    const key = `doctor/${randomUUID()}`
    await store.write(key, bytes, 'text/plain')
    const read = await store.read(key)
    await store.remove(key)
    const rest = await store.read(key)
    if (!read || !bytes.equals(read))
      return about('files', failure('a file that was put there comes back changed', fix))
    return rest === undefined
      ? about('files', ok('a file can be put there, read and deleted'))
      : about('files', failure('a file that was deleted is still there', fix))
  } catch (error) {
    return about('files', failure(`the store of files does not work: ${describeError(error)}`, fix))
  } finally {
    platform.close()
  }
}

const silence = () => undefined
const silent = { log: { debug: silence, info: silence, warn: silence, error: silence } }
