// Refuses all writes to a store that is open for reading only.
import { Unavailable } from '@postern/message'
import type { Writer } from './writer.ts'

const refuse = () => Promise.reject(new Unavailable('Cannot write: this command only reads the data'))

export const refusingWriter: Writer = {
  write: refuse,
  writeLightly: refuse,
  writeLast: refuse,
  close: async () => undefined,
}
