import { aguiCodec } from '../agui/codec.ts'
import type { Codec } from '../codec/codec.ts'
import type { FormatName } from '../entry/kind.ts'
import { envelopeCodec } from '../envelope/codec.ts'
import type { JsonMap } from '../json/difference.ts'
import { normalizedCodec } from '../normalized/codec.ts'
import { storeCodec } from '../store-format/codec.ts'
import { swarmCodec } from '../swarm/codec.ts'

/** The five dialects of the transcript, by name. */
export const codecs: Readonly<Record<FormatName, Codec<JsonMap>>> = {
  envelope: envelopeCodec,
  agui: aguiCodec,
  store: storeCodec,
  swarm: swarmCodec,
  normalized: normalizedCodec,
}
