/** Reports its own costs. */
export async function* handle() {
  yield { usage: [{ provider: 'own', model: 'house-blend', input_tokens: 8, cached_input_tokens: 6 }] }
  yield 'Spent.'
  yield { usage: [{ provider: 'own', model: 'house-blend', output_tokens: 3 }] }
}
