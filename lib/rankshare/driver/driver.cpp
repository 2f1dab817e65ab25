// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/driver.hpp>

namespace rankshare {

driver::~driver() = default;

}  // namespace rankshare
