import type { EvidenceCode } from '@postern/core'

/** Evidence does not count. `code` and `message` are shown to the operator; neither quotes the evidence. */
export class EvidenceFault extends Error {
  override readonly name = 'EvidenceFault'
  readonly code: EvidenceCode

  constructor(code: EvidenceCode, reason: string, options: ErrorOptions = {}) {
    super(reason, options)
    this.code = code
  }
}
