// Hides the secrets of the configuration in answers of the operator's API.
import type { AnswerMask } from '@postern/operator'
import { maskAnswer } from '../masking/masked-answer.ts'
import { maskError } from '../masking/masked-error.ts'
import type { SecretMask } from '../masking/secret-mask.ts'

export function createAnswerMask(mask: SecretMask): AnswerMask {
  return {
    hideInAll: mask.hideInAll,
    hideInResponse: answer => maskAnswer(answer, mask),
    hideInError: error => maskError(error, mask),
  }
}
