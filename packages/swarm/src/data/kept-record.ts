import type { Json } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { RecordKey, RecordStore } from '@postern/transcript'

/** One record that several writers change. */
interface KeptRecord<Value extends Json> {
  read(): Promise<Value | undefined>
  /**
   * Changes run one after the other. If another process was first, `make` runs again on its value. An error of `make` changes nothing.
   * @throws Unavailable when others were first in every try
   */
  change(make: (value: Value | undefined) => Promise<Value> | Value): Promise<Value>
  clear(): Promise<void>
}

/** Each try fails only because another writer succeeded. So many failures mean a fault. */
const maxTries = 1_000

export function keepRecord<Value extends Json>(
  records: Pick<RecordStore, 'get' | 'insert' | 'swap' | 'remove'>,
  place: RecordKey,
): KeptRecord<Value> {
  let last: Promise<unknown> = Promise.resolve()

  /** A failure does not stop the next change. */
  function queue<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = last.then(act)
    last = done.catch(() => {})
    return done
  }

  async function write(make: (value: Value | undefined) => Promise<Value> | Value): Promise<Value> {
    for (let left = maxTries; left > 0; left -= 1) {
      const before = await records.get(place)
      const value = await make(before?.value as Value | undefined)
      const isFirst = before ? await records.swap(place, before.version, value) : await records.insert(place, value)
      if (isFirst) return value
    }
    throw new Unavailable('Cannot keep record: others were first, again and again')
  }

  return {
    read: async () => (await records.get(place))?.value as Value | undefined,
    change: make => queue(() => write(make)),
    clear: () => queue(() => records.remove(place)),
  }
}
