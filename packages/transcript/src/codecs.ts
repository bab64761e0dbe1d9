import { aguiCodec } from './agui/agui-codec.ts'
import type { Codec } from './codec.ts'
import { envelopeCodec } from './envelope/envelope-codec.ts'
import type { JsonMap } from './json-difference.ts'
import type { FormatName } from './kind.ts'
import { normalizedCodec } from './normalized/normalized-codec.ts'
import { storeCodec } from './store-format/store-codec.ts'
import { swarmCodec } from './swarm/codec.ts'

/** The five dialects of the transcript, by name. */
export const codecs: Readonly<Record<FormatName, Codec<JsonMap>>> = {
  envelope: envelopeCodec,
  agui: aguiCodec,
  store: storeCodec,
  swarm: swarmCodec,
  normalized: normalizedCodec,
}
