// @ts-check

/**
 * The orders of a small shop. A real agent asks a database.
 *
 * @typedef {{ number: string, customer: string, item: string, price: number, parcel: string }} Order
 * @type {readonly Order[]}
 */
export const orders = [
  {
    number: '1042',
    customer: 'Ada Baker',
    item: 'a blue kettle',
    price: 48.9,
    parcel: 'delivered on Monday, the box was dented',
  },
  {
    number: '1043',
    customer: 'Ben Okafor',
    item: 'two reading lamps',
    price: 79,
    parcel: 'waiting at the depot since Tuesday, the address was not found',
  },
  {
    number: '1044',
    customer: 'Chiara Rossi',
    item: 'a set of bowls',
    price: 31.5,
    parcel: 'on its way, expected tomorrow before noon',
  },
];

/** The order that a question is about, or the first one. @param {string} question @returns {Order} */
export function findOrder(question) {
  const found = orders.find(({ number }) => question.includes(number)) ?? orders[0];
  return /** @type {Order} */ (found);
}

/** @param {number} amount */
export function euros(amount) {
  return `€${amount.toFixed(2)}`;
}
